#include "codec/array/dtype.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "codec/array/dtype_code.h"
#include "codec/array/python_literal.h"
#include "codec/core/checked.h"

namespace framefs::codec {
namespace {

using Kind = PythonLiteral::Kind;
using Value = PythonLiteral::Value;

// The limit on the dimensions of an array and of its items together.  Source: NumPy before 2.0,
// NPY_MAXDIMS.
constexpr std::size_t kNumpyMaxDims = 32;

// A dtype in the form that is written.
struct Item {
  std::string descr;  // of one element; a Python literal
  std::vector<std::uint64_t> shape = {};
  std::uint64_t bytes = 0;  // of all elements
  std::uint64_t alignment = 1;
  bool is_void = false;  // bytes without a type
};

struct Field {
  std::u32string_view name;
  std::optional<std::u32string_view> title;
  Item item;
  std::uint64_t offset = 0;
  bool is_padding = false;
};

Item opaque(std::uint64_t bytes) {
  return {.descr = "'|V" + std::to_string(bytes) + "'", .bytes = bytes, .is_void = true};
}

// Rounds up to a multiple of `alignment` if `align` is set.
std::uint64_t aligned_up(std::uint64_t offset, std::uint64_t alignment, bool align) {
  return align ? div_ceil(offset, alignment) * alignment : offset;
}

// `align` comes from the enclosing dict and applies to nested dtypes too.
std::optional<Item> read_item(const Value& value, bool align);

std::optional<Item> read_code(const Value& value) {
  std::string text;
  for (const char32_t c : value.string()) {
    if (c > 0x7F) return std::nullopt;
    text += static_cast<char>(c);
  }
  auto code = parse_dtype_code(text);
  if (!code) return std::nullopt;
  return Item{.descr = '\'' + code->text + '\'',
              .bytes = code->itemsize,
              .alignment = code->alignment,
              .is_void = code->text.starts_with("|V")};
}

// Puts the dimensions of `shape`, a number or a tuple of numbers, before those of `item`.
bool add_shape(Item& item, const Value& shape) {
  std::vector<Value> dims;
  if (shape.is(Kind::number)) {
    if (shape.number() == 1) return true;  // NumPy treats it as no shape
    dims.push_back(shape);
  } else if (shape.is(Kind::tuple)) {
    dims = shape.items();
  } else {
    return false;
  }
  if (dims.size() + item.shape.size() > kNumpyMaxDims) return false;
  std::vector<std::uint64_t> all;
  for (const auto& dim : dims) {
    if (!dim.is(Kind::number)) return false;
    const auto bytes = checked_mul(item.bytes, dim.number());
    if (!bytes || *bytes > kMaxItemBytes || dim.number() > kMaxItemBytes) return false;
    item.bytes = *bytes;
    all.push_back(dim.number());
  }
  item.shape.insert(item.shape.begin(), all.begin(), all.end());
  return true;
}

// ('<f4', (2, 3))
std::optional<Item> read_subarray(const Value& value, bool align) {
  const auto parts = value.items();
  if (parts.size() != 2) return std::nullopt;
  auto item = read_item(parts[0], align);
  if (!item || !add_shape(*item, parts[1])) return std::nullopt;
  return item;
}

// A name, or a title and a name.
bool read_name(const Value& value, Field& field) {
  if (value.is(Kind::string)) {
    field.name = value.string();
    return true;
  }
  if (!value.is(Kind::tuple) || value.size() != 2) return false;
  const auto parts = value.items();
  if (!parts[1].is(Kind::string)) return false;
  field.name = parts[1].string();
  if (parts[0].is(Kind::string)) field.title = parts[0].string();
  return !field.name.empty() && (field.title || parts[0].is(Kind::none));
}

// [('a', '<i4'), ('b', '<f8', (3,))]: fields follow each other.
std::optional<std::vector<Field>> read_list(const Value& value, bool align) {
  std::vector<Field> fields;
  std::uint64_t offset = 0;
  for (const auto& element : value.items()) {
    if (!element.is(Kind::tuple) || element.size() < 2 || element.size() > 3) return std::nullopt;
    const auto parts = element.items();
    Field field;
    auto item = read_item(parts[1], align);
    if (!read_name(parts[0], field) || !item) return std::nullopt;
    if (parts.size() == 3 && !add_shape(*item, parts[2])) return std::nullopt;
    field.item = std::move(*item);
    // NumPy would invent a name for a field of another type without a name.
    field.is_padding = field.name.empty();
    if (field.is_padding && !field.item.is_void) return std::nullopt;
    field.offset = aligned_up(offset, field.item.alignment, align);
    offset = field.offset + field.item.bytes;
    if (offset > kMaxItemBytes) return std::nullopt;
    fields.push_back(std::move(field));
  }
  return fields;
}

// The items of the list or tuple under `key`; nothing if the key is missing or the size differs.
std::optional<std::vector<Value>> find_items(const Value& dict, std::string_view key,
                                             std::size_t size) {
  const auto value = dict.find(key);
  if (!value || !(value->is(Kind::list) || value->is(Kind::tuple)) || value->size() != size) {
    return std::nullopt;
  }
  return value->items();
}

// {'names': ['a', 'b'], 'formats': ['<i4', '<f8'], 'offsets': [0, 8], 'itemsize': 16}.  Without
// offsets, the fields follow each other.
std::optional<std::vector<Field>> read_dict(const Value& dict, bool align) {
  const auto all = dict.find("names");
  if (!all) return std::nullopt;
  const auto names = find_items(dict, "names", all->size());
  const auto formats = find_items(dict, "formats", all->size());
  const auto offsets = find_items(dict, "offsets", all->size());
  const auto titles = find_items(dict, "titles", all->size());
  if (!names || !formats || (dict.find("offsets") && !offsets) ||
      (dict.find("titles") && !titles)) {
    return std::nullopt;
  }
  std::vector<Field> fields;
  std::uint64_t end = 0;
  for (std::size_t i = 0; i < names->size(); ++i) {
    Field field;
    auto item = read_item((*formats)[i], align);
    if (!item || !(*names)[i].is(Kind::string)) return std::nullopt;
    field.item = std::move(*item);
    field.name = (*names)[i].string();
    if (titles && (*titles)[i].is(Kind::string)) field.title = (*titles)[i].string();
    field.offset = aligned_up(end, field.item.alignment, align);
    if (offsets) {
      if (!(*offsets)[i].is(Kind::number)) return std::nullopt;
      field.offset = (*offsets)[i].number();
    }
    // NumPy refuses its own text if an aligned struct has misaligned fields.
    const bool misplaced = align && field.offset % field.item.alignment != 0;
    if (field.name.empty() || misplaced || field.offset > kMaxItemBytes) return std::nullopt;
    end = field.offset + field.item.bytes;
    fields.push_back(std::move(field));
  }
  return fields;
}

// All names must differ; titles count as names.
bool names_differ(const std::vector<Field>& fields) {
  std::vector<std::u32string_view> names;
  for (const auto& field : fields) {
    if (!field.is_padding) names.push_back(field.name);
    if (field.title) names.push_back(*field.title);
  }
  std::ranges::sort(names);
  return std::ranges::adjacent_find(names) == names.end();
}

std::string field_text(const Field& field) {
  std::string name = field.is_padding ? "''" : python_ascii(field.name);
  if (field.title) name = '(' + python_ascii(*field.title) + ", " + name + ')';
  std::string out = '(' + name + ", " + field.item.descr;
  if (!field.item.shape.empty()) out += ", " + python_tuple(field.item.shape);
  return out + ')';
}

// The fields as a list, in the order of their bytes; nothing if they overlap or do not fit.
std::optional<Item> make_struct(const std::vector<Field>& fields,
                                std::optional<std::uint64_t> itemsize, bool align) {
  if (!names_differ(fields)) return std::nullopt;
  std::vector<std::pair<std::uint64_t, std::size_t>> order;  // the index breaks ties
  order.reserve(fields.size());
  for (const auto& field : fields) order.emplace_back(field.offset, order.size());
  std::ranges::sort(order);
  Item out{.descr = "["};
  const auto append = [&](const std::string& text) {
    out.descr += (out.descr.size() > 1 ? ", " : "") + text;
  };
  const auto append_gap = [&](std::uint64_t end) {
    if (end > out.bytes) append("('', " + opaque(end - out.bytes).descr + ')');
    out.bytes = end;
  };
  for (const auto& [offset, index] : order) {
    const Field& field = fields[index];
    if (offset < out.bytes) return std::nullopt;
    append_gap(offset);
    append(field_text(field));
    out.bytes += field.item.bytes;
    if (out.bytes > kMaxItemBytes) return std::nullopt;
    if (align) out.alignment = std::max(out.alignment, field.item.alignment);
  }
  const auto end = itemsize.value_or(aligned_up(out.bytes, out.alignment, align));
  if (end < out.bytes || end > kMaxItemBytes || end % out.alignment != 0) return std::nullopt;
  append_gap(end);
  if (fields.empty()) return opaque(out.bytes);
  out.descr += ']';
  return out;
}

std::optional<Item> read_struct(const Value& value, bool align) {
  if (value.is(Kind::list)) {
    const auto fields = read_list(value, align);
    if (!fields) return std::nullopt;
    return make_struct(*fields, std::nullopt, align);
  }
  // A number is true in Python unless it is 0.
  if (const auto own = value.find("aligned")) align = own->number() != 0;
  const auto fields = read_dict(value, align);
  const auto itemsize = value.find("itemsize");
  if (!fields || (itemsize && !itemsize->is(Kind::number))) return std::nullopt;
  return make_struct(*fields, itemsize ? std::optional(itemsize->number()) : std::nullopt, align);
}

// The recursion is as deep as the literal, whose depth is bounded.
std::optional<Item> read_item(const Value& value, bool align) {
  switch (value.kind()) {
    case Kind::string:
      return read_code(value);
    case Kind::tuple:
      return read_subarray(value, align);
    case Kind::list:
    case Kind::dict:
      return read_struct(value, align);
    case Kind::none:
    case Kind::boolean:
    case Kind::number:
      break;
  }
  return std::nullopt;
}

std::optional<Item> read_text(std::string_view text) {
  if (const auto code = parse_dtype_code(text)) {
    return Item{.descr = '\'' + code->text + '\'', .bytes = code->itemsize};
  }
  const auto literal = PythonLiteral::parse(text);
  // NumPy does not accept a string in quotes.
  if (!literal || literal->root().is(Kind::string)) return std::nullopt;
  return read_item(literal->root(), false);
}

}  // namespace

NpyDtype npy_dtype(std::string_view text, std::uint32_t typesize) {
  auto item = read_text(text);
  // Leaves room for the dimensions of any array.
  if (!item || item->bytes != typesize || item->shape.size() > kNumpyMaxDims - kMaxDims) {
    item = opaque(typesize);
  }
  return {std::move(item->descr), std::move(item->shape)};
}

}  // namespace framefs::codec
