// Intent: any text as the dtype of an array.  The description in the .npy header is one line of
// ASCII, adds up to the typesize according to the parser below, and is parsed as the same again.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <string>
#include <string_view>

#include "codec/array/dtype.h"
#include "codec/array/npy_header.h"
#include "codec/array/python_literal.h"
#include "codec/core/byte_reader.h"

namespace {

using namespace framefs;

void demand(bool holds) {
  if (!holds) std::abort();
}

// Adds up the bytes of a description, in the only form that framefs writes.
class Sizer {
 public:
  explicit Sizer(std::string_view text) : text_(text) {}

  std::uint64_t all() {
    const auto bytes = type();
    demand(text_.empty());
    return bytes;
  }

 private:
  bool take(std::string_view token) {
    if (!text_.starts_with(token)) return false;
    text_.remove_prefix(token.size());
    return true;
  }
  void expect(std::string_view token) { demand(take(token)); }

  std::uint64_t number() {
    std::uint64_t value = 0;
    demand(!text_.empty() && text_[0] >= '0' && text_[0] <= '9');
    for (; text_[0] >= '0' && text_[0] <= '9'; text_.remove_prefix(1)) {
      value = value * 10 + static_cast<std::uint64_t>(text_[0] - '0');
    }
    return value;
  }

  void skip_string() {
    const char quote = text_.at(0);
    demand(quote == '\'' || quote == '"');
    std::size_t at = 1;
    for (; text_.at(at) != quote; ++at) {
      if (text_.at(at) == '\\') ++at;
    }
    text_.remove_prefix(at + 1);
  }

  std::uint64_t type() {
    if (take("[")) return fields();
    expect("'");
    demand(take("<") || take(">") || take("|"));
    const char kind = text_.at(0);
    demand(std::string_view("biufcSUVMm").contains(kind));
    text_.remove_prefix(1);
    const auto size = number();
    if (take("[")) {
      demand(kind == 'M' || kind == 'm');
      text_.remove_prefix(text_.find(']') + 1);
    }
    expect("'");
    return kind == 'U' ? 4 * size : size;
  }

  std::uint64_t fields() {
    std::uint64_t bytes = 0;
    do {
      expect("(");
      if (take("(")) {
        skip_string();
        expect(", ");
        skip_string();
        expect(")");
      } else {
        skip_string();
      }
      expect(", ");
      auto field = type();
      if (take(", (")) {
        do {
          field *= number();
        } while (take(", "));
        take(",");
        expect(")");
      }
      expect(")");
      bytes += field;
    } while (take(", "));
    expect("]");
    return bytes;
  }

  std::string_view text_;
};

std::string_view unquoted(std::string_view text) {
  return text.starts_with('\'') ? text.substr(1, text.size() - 2) : text;
}

}  // namespace

// The first two bytes are the typesize, the rest is the text.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  constexpr std::size_t kSizeBytes = 2;
  if (bytes.size() < kSizeBytes) return 0;
  const std::uint32_t typesize =
      std::max<std::uint32_t>(codec::load_le<std::uint16_t>(bytes.data()), 1);
  codec::ArrayMeta meta;
  for (const auto b : bytes.subspan(kSizeBytes)) meta.dtype += static_cast<char>(b);

  const auto dtype = codec::npy_dtype(meta.dtype, typesize);
  demand(std::ranges::all_of(dtype.descr, [](char c) { return c >= 0x20 && c < 0x7F; }));
  auto item_bytes = Sizer(dtype.descr).all();
  const auto element_bytes = static_cast<std::uint32_t>(item_bytes);
  for (const auto dim : dtype.shape) item_bytes *= dim;
  demand(item_bytes == typesize);

  const auto again = codec::npy_dtype(unquoted(dtype.descr), element_bytes);
  demand(again.descr == dtype.descr && again.shape.empty());

  const auto header = codec::npy_header(meta, typesize);
  demand(header.size() % 64 == 0 && header.ends_with('\n'));
  demand(header.contains("{'descr': " + dtype.descr + ", 'fortran_order': False, 'shape': ("));
  return 0;
}
