#include "codec/array/npy_input.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <span>
#include <string_view>
#include <utility>

#include "codec/array/dtype.h"
#include "codec/array/npy_header.h"
#include "codec/array/python_literal.h"
#include "codec/core/byte_reader.h"
#include "codec/core/checked.h"
#include "codec/core/limits.h"

namespace framefs::codec {
namespace {

constexpr std::size_t kVersionAt = 6;
constexpr std::size_t kLengthAt = 8;

// The text of the header, and the offset of the items behind it.
struct HeaderText {
  std::string text;
  std::uint64_t data_at = 0;
};

std::optional<HeaderText> read_text(const ByteSource& file) {
  std::array<std::byte, 12> head{};
  if (!file.read_at(0, head)) return std::nullopt;
  const auto is_same = [](char c, std::byte b) { return static_cast<std::byte>(c) == b; };
  if (!std::ranges::equal(kNpyMagic, std::span(head).first(kNpyMagic.size()), is_same)) {
    return std::nullopt;
  }
  const auto version = std::to_integer<unsigned>(head[kVersionAt]);
  if (version < 1 || version > 3) return std::nullopt;
  const std::size_t text_at = version == 1 ? 10 : 12;
  const std::uint64_t length = version == 1 ? load_le<std::uint16_t>(head.data() + kLengthAt)
                                            : load_le<std::uint32_t>(head.data() + kLengthAt);
  if (length > PythonLiteral::kMaxTextBytes) return std::nullopt;
  std::vector<std::byte> bytes(length);
  if (!file.read_at(text_at, bytes)) return std::nullopt;
  HeaderText header{.text = {}, .data_at = text_at + length};
  for (const auto byte : bytes) header.text += static_cast<char>(byte);
  return header;
}

// Returns the size of an item of a simple type, "<f8" or "<U5"; nothing for objects.
std::optional<std::uint32_t> item_bytes(std::string_view dtype) {
  if (dtype.size() < 3 || std::string_view("<>|=").find(dtype[0]) == std::string_view::npos) {
    return std::nullopt;
  }
  constexpr std::uint32_t kCodePointBytes = 4;
  std::uint32_t count = 0;
  const auto number = std::from_chars(dtype.data() + 2, dtype.data() + dtype.size(), count);
  const bool is_known = std::string_view("biufcSUVmM").find(dtype[1]) != std::string_view::npos;
  if (!is_known || number.ec != std::errc() || count == 0 || count > (1u << 20))
    return std::nullopt;
  return dtype[1] == 'U' ? count * kCodePointBytes : count;
}

// An array without items has nothing to compress, and the reference library gives it a frame with
// chunksize 0, the mark of frames whose chunks vary in size.
std::optional<std::vector<std::uint64_t>> shape_of(const PythonLiteral::Value& value) {
  std::vector<std::uint64_t> shape;
  if (!value.is(PythonLiteral::Kind::tuple)) return std::nullopt;
  for (const auto& item : value.items()) {
    if (!item.is(PythonLiteral::Kind::number) || item.number() == 0) return std::nullopt;
    shape.push_back(item.number());
  }
  if (shape.size() > kMaxDims) return std::nullopt;
  return shape;
}

std::optional<std::uint64_t> bytes_of(const NpyHeader& header) {
  auto sum = std::optional<std::uint64_t>(header.typesize);
  for (const auto extent : header.shape) {
    if (sum) sum = checked_mul(*sum, extent);
  }
  return sum;
}

}  // namespace

std::optional<NpyHeader> read_npy_header(const ByteSource& file) {
  const auto text = read_text(file);
  if (!text) return std::nullopt;
  const auto literal = PythonLiteral::parse(text->text);
  if (!literal || !literal->root().is(PythonLiteral::Kind::dict)) return std::nullopt;
  const auto descr = literal->root().find("descr");
  const auto order = literal->root().find("fortran_order");
  const auto shape = literal->root().find("shape");
  if (!descr || !order || !shape || !descr->is(PythonLiteral::Kind::string)) return std::nullopt;
  if (!order->is(PythonLiteral::Kind::boolean) || order->number() != 0) return std::nullopt;
  NpyHeader header{.dtype = {}, .typesize = 0, .shape = {}, .data_at = text->data_at};
  for (const auto c : descr->string()) {
    if (c >= 0x80) return std::nullopt;
    header.dtype += static_cast<char>(c);
  }
  const auto item = item_bytes(header.dtype);
  auto dims = shape_of(*shape);
  if (!item || !dims) return std::nullopt;
  header.typesize = *item;
  header.shape = std::move(*dims);
  // A mount shows the type name in the form that NumPy writes.
  const auto shown = npy_dtype(header.dtype, header.typesize);
  if (shown.descr != "'" + header.dtype + "'" || !shown.shape.empty()) return std::nullopt;
  const auto bytes = bytes_of(header);
  const auto size = file.size();
  if (!bytes || !size || *size < header.data_at || *size - header.data_at != *bytes) {
    return std::nullopt;
  }
  return header;
}

}  // namespace framefs::codec
