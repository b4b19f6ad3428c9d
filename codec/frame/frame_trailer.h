#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "codec/core/byte_source.h"
#include "codec/core/result.h"
#include "codec/frame/metalayer.h"

namespace framefs::codec {

// Where the map of metalayers begins in a trailer.
inline constexpr std::size_t kTrailerMapAt = 2;

// Whether the fingerprint of a trailer is a hash of the trailer.  Writers that do not know seals
// write no fingerprint.  Source: codec/FORMAT.md, "Checksums".
enum class TrailerSeal : std::uint8_t {
  none,
  valid,
  broken,  // the trailer was sealed, and then damaged
};
// `trailer` is a whole trailer, of which only a few KiB are in memory at a time.
// Errors: errors of the source.
Result<TrailerSeal> seal_of(const ByteSource& trailer);
TrailerSeal seal_of(std::span<const std::byte> trailer);
void seal_trailer(std::span<std::byte> trailer) noexcept;
void remove_seal(std::span<std::byte> trailer) noexcept;

// Encodes the content of a vl-metalayer as a chunk.
// Errors: over_limit if the content exceeds the largest chunk; system, if memory runs out.
Result<std::vector<std::byte>> encode_vlmetalayer(std::span<const std::byte> plain);

// Encodes a frame's trailer.  Each content is a chunk, from encode_vlmetalayer() or from another
// frame.
// Errors: errors of append_metalayers().
// Source: frame format, "Trailer".
Result<std::vector<std::byte>> encode_trailer(std::span<const NamedContent> vlmetalayers);

}  // namespace framefs::codec
