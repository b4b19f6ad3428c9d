#include "codec/array/dtype_code.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>

namespace framefs::codec {
namespace {

constexpr std::uint32_t kCharBytes = 4;  // of one character of 'U'

// A kind and a size: 'f' with 8 bytes, for example.
struct Plain {
  char kind;
  std::uint32_t bytes;
};

struct NamedType {
  std::string_view name;
  Plain plain;
};
// Letters and names that imply a size, on 64-bit Linux.
constexpr std::array<NamedType, 65> kNames = {{
    {"?", {'b', 1}},          {"b", {'i', 1}},           {"B", {'u', 1}},
    {"h", {'i', 2}},          {"H", {'u', 2}},           {"i", {'i', 4}},
    {"I", {'u', 4}},          {"l", {'i', 8}},           {"L", {'u', 8}},
    {"q", {'i', 8}},          {"Q", {'u', 8}},           {"p", {'i', 8}},
    {"P", {'u', 8}},          {"e", {'f', 2}},           {"f", {'f', 4}},
    {"d", {'f', 8}},          {"g", {'f', 16}},          {"F", {'c', 8}},
    {"D", {'c', 16}},         {"G", {'c', 32}},          {"c", {'S', 1}},
    {"bool", {'b', 1}},       {"bool_", {'b', 1}},       {"bool8", {'b', 1}},
    {"int8", {'i', 1}},       {"byte", {'i', 1}},        {"uint8", {'u', 1}},
    {"ubyte", {'u', 1}},      {"int16", {'i', 2}},       {"short", {'i', 2}},
    {"uint16", {'u', 2}},     {"ushort", {'u', 2}},      {"int32", {'i', 4}},
    {"intc", {'i', 4}},       {"uint32", {'u', 4}},      {"uintc", {'u', 4}},
    {"int64", {'i', 8}},      {"int", {'i', 8}},         {"int_", {'i', 8}},
    {"intp", {'i', 8}},       {"long", {'i', 8}},        {"longlong", {'i', 8}},
    {"uint64", {'u', 8}},     {"uint", {'u', 8}},        {"uintp", {'u', 8}},
    {"ulong", {'u', 8}},      {"ulonglong", {'u', 8}},   {"float16", {'f', 2}},
    {"half", {'f', 2}},       {"float32", {'f', 4}},     {"single", {'f', 4}},
    {"float64", {'f', 8}},    {"double", {'f', 8}},      {"float", {'f', 8}},
    {"float128", {'f', 16}},  {"longdouble", {'f', 16}}, {"complex64", {'c', 8}},
    {"csingle", {'c', 8}},    {"complex128", {'c', 16}}, {"cdouble", {'c', 16}},
    {"complex", {'c', 16}},   {"complex256", {'c', 32}}, {"clongdouble", {'c', 32}},
    {"datetime64", {'M', 8}}, {"timedelta64", {'m', 8}},
}};

constexpr std::array<std::string_view, 13> kTimeUnits = {"Y",  "M",  "W",  "D",  "h",  "m", "s",
                                                         "ms", "us", "ns", "ps", "fs", "as"};

std::uint32_t alignment_of(const Plain& plain) {
  switch (plain.kind) {
    case 'S':
    case 'V':
      return 1;
    case 'U':
      return kCharBytes;
    case 'c':
      return plain.bytes / 2;
    default:
      return plain.bytes;
  }
}

bool is_one_of(std::uint32_t value, std::initializer_list<std::uint32_t> values) {
  return std::ranges::find(values, value) != values.end();
}

// Takes a number off the front of `text`.  Nothing if there is none, or if it is too large.
std::optional<std::uint32_t> take_number(std::string_view& text) {
  std::uint32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || value > kMaxItemBytes) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return value;
}

// A letter and a number.  The number counts bytes, but characters for 'U'.
std::optional<Plain> parse_sized(std::string_view& text) {
  if (text.empty()) return std::nullopt;
  char kind = text.front();
  auto rest = text.substr(1);
  const auto size = take_number(rest);
  if (kind == 'a') kind = 'S';  // an older alias
  bool known = false;
  std::uint32_t bytes = size.value_or(0);
  switch (kind) {
    case 'b':
      known = size && bytes == 1;
      break;
    case 'i':
    case 'u':
      known = is_one_of(bytes, {1, 2, 4, 8});
      break;
    case 'f':
      known = is_one_of(bytes, {2, 4, 8, 16});
      break;
    case 'c':
      known = is_one_of(bytes, {8, 16, 32});
      break;
    case 'M':
    case 'm':
      known = bytes == 8 || rest.size() == text.size() - 1;
      bytes = 8;
      break;
    case 'U':
      known = bytes <= kMaxItemBytes / kCharBytes;
      bytes *= known ? kCharBytes : 1;
      break;
    case 'S':
    case 'V':
      known = true;
      break;
    default:
      break;
  }
  // If digits follow, the number was too large to be taken.
  if (!known || (!rest.empty() && rest.front() >= '0' && rest.front() <= '9')) return std::nullopt;
  text = rest;
  return Plain{kind, bytes};
}

std::optional<Plain> parse_name(std::string_view& text) {
  // The part in brackets is a time unit, not part of the name.
  const auto name = text.substr(0, text.find('['));
  const auto found = std::ranges::find(kNames, name, &NamedType::name);
  if (found == kNames.end()) return std::nullopt;
  text.remove_prefix(name.size());
  return found->plain;
}

// "[ns]", "[25s]", or "" for a time without a unit.  Returns the unit as NumPy writes it.
std::optional<std::string> parse_time_unit(std::string_view text) {
  if (text.empty() || text == "[generic]") return "";
  if (text.size() < 3 || text.front() != '[' || text.back() != ']') return std::nullopt;
  text = text.substr(1, text.size() - 2);
  std::uint32_t multiple = 1;
  if (text.front() >= '0' && text.front() <= '9') {
    const auto number = take_number(text);
    if (!number || *number == 0) return std::nullopt;
    multiple = *number;
  }
  if (std::ranges::find(kTimeUnits, text) == kTimeUnits.end()) return std::nullopt;
  return '[' + (multiple > 1 ? std::to_string(multiple) : "") + std::string(text) + ']';
}

}  // namespace

std::optional<DtypeCode> parse_dtype_code(std::string_view text) {
  char order = '<';
  if (!text.empty() && std::string_view("<>|=").contains(text.front())) {
    if (text.front() == '>') order = '>';
    text.remove_prefix(1);
  }
  auto plain = parse_name(text);
  if (!plain) plain = parse_sized(text);
  if (!plain) return std::nullopt;
  const auto [kind, bytes] = *plain;
  std::string unit;
  if (kind == 'M' || kind == 'm') {
    const auto parsed = parse_time_unit(text);
    if (!parsed) return std::nullopt;
    unit = *parsed;
  } else if (!text.empty()) {
    return std::nullopt;
  }
  const bool unordered = bytes == 1 || kind == 'S' || kind == 'V';
  DtypeCode out{.text = std::string(1, unordered && kind != 'U' ? '|' : order),
                .itemsize = bytes,
                .alignment = alignment_of(*plain)};
  out.text += kind;
  out.text += std::to_string(kind == 'U' ? bytes / kCharBytes : bytes) + unit;
  return out;
}

}  // namespace framefs::codec
