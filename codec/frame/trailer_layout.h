#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "codec/core/byte_reader.h"
#include "codec/core/msgpack_markers.h"
#include "codec/core/result.h"
#include "codec/frame/frame_trailer.h"

namespace framefs::codec {

// The parts of a trailer whose place is fixed.  Source: frame format, "Trailer".
inline constexpr std::size_t kFingerprintBytes = 16;
// A trailer ends with its length and a marker before it, and then the fingerprint with its marker
// and type.
inline constexpr std::size_t kTrailerTailBytes = 5 + 2 + kFingerprintBytes;
// The trailer of a beta can have nothing else.
inline constexpr std::size_t kMinTrailerBytes = kTrailerMapAt + kTrailerTailBytes;
// Without vl-metalayers, a trailer has the size of the map, and an empty map and list of contents.
inline constexpr std::size_t kTrailerBytesWithoutLayers = kMinTrailerBytes + 10;

// The length of the trailer that ends with `tail`.  `tail_at` is the place of the tail in the
// frame, and the trailer begins at `least_at` or later.
// Errors: bad_field.
inline Result<std::uint32_t> parse_trailer_length(
    std::span<const std::byte, kTrailerTailBytes> tail, std::uint64_t tail_at,
    std::uint64_t least_at) {
  const auto length = load_be<std::uint32_t>(tail.data() + 1);
  if (std::to_integer<std::uint8_t>(tail[0]) != kMarkerUint32) {
    return fail(Errc::bad_field, "trailer length marker", tail_at);
  }
  if (length < kMinTrailerBytes || length > tail_at + kTrailerTailBytes - least_at) {
    return fail_value(Errc::bad_field, "trailer_len", tail_at + 1, length);
  }
  return length;
}

}  // namespace framefs::codec
