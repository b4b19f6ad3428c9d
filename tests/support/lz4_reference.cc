#include "tests/support/lz4_reference.h"

#include <cstdint>

#include <lz4.h>

#include "codec/core/byte_reader.h"

namespace framefs::test {
namespace {

// Completes a length that starts with `half` of a token.
codec::Result<std::uint64_t> read_length(codec::ByteReader& in, std::uint32_t half) {
  constexpr std::uint32_t kGoesOn = 255;
  std::uint64_t length = half;
  if (half != 15) return length;
  for (auto more = kGoesOn; more == kGoesOn; length += more) {
    FRAMEFS_TRY(more, in.u8("length"));
  }
  return length;
}

// Whether a stream that the library accepts has a match of distance 0.
codec::Result<bool> has_distance_zero(std::span<const std::byte> stream) {
  codec::ByteReader in(stream);
  while (in.remaining() > 0) {
    FRAMEFS_TRY(const std::uint32_t token, in.u8("token"));
    FRAMEFS_TRY(const auto literals, read_length(in, token >> 4));
    FRAMEFS_CHECK(in.take(literals, "literals"));
    if (in.remaining() == 0) return false;
    FRAMEFS_TRY(const auto distance, in.le<std::uint16_t>("distance"));
    if (distance == 0) return true;
    FRAMEFS_CHECK(read_length(in, token & 15));
  }
  return false;
}

}  // namespace

std::optional<Bytes> lz4_reference(std::span<const std::byte> in, std::size_t size,
                                   std::span<const std::byte> dictionary) {
  Bytes out(size);
  const auto in_bytes = static_cast<int>(in.size());
  const auto out_bytes = static_cast<int>(size);
  const int produced =
      dictionary.empty()
          ? LZ4_decompress_safe(as_chars(in.data()), as_chars(out.data()), in_bytes, out_bytes)
          : LZ4_decompress_safe_usingDict(as_chars(in.data()), as_chars(out.data()), in_bytes,
                                          out_bytes, as_chars(dictionary.data()),
                                          static_cast<int>(dictionary.size()));
  if (produced != out_bytes) return std::nullopt;
  const auto has_zero = has_distance_zero(in);
  if (!has_zero || *has_zero) return std::nullopt;
  return out;
}

}  // namespace framefs::test
