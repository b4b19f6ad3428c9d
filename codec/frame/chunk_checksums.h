#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "codec/core/byte_source.h"
#include "codec/core/limits.h"
#include "codec/core/result.h"
#include "codec/frame/frame.h"
#include "codec/frame/metalayer.h"

namespace framefs::codec {

// Checksums of the stored chunks of a frame.  A vl-metalayer holds them, and the seal of the
// trailer says that they belong to the frame as it is: a writer that knows nothing of checksums
// writes a trailer without a seal.
// Source: codec/FORMAT.md, "Checksums".

inline constexpr std::string_view kChecksumLayer = "framefs.checksums";
// A frame of more chunks gets no checksums.  The layer is then 3 MiB, which every commit writes.
inline constexpr std::uint64_t kMaxChecksums = std::uint64_t{1} << 18;

struct ChunkChecksum {
  std::uint32_t cbytes = 0;  // of the stored chunk; 0 if there is no checksum
  std::uint64_t hash = 0;    // XXH3 of these bytes

  [[nodiscard]] bool exists() const noexcept { return cbytes != 0; }
  friend bool operator==(const ChunkChecksum&, const ChunkChecksum&) = default;
};

// `chunk` begins with a stored chunk, which may be followed by other bytes.
ChunkChecksum checksum_of(std::span<const std::byte> chunk) noexcept;
// The same for the chunk at `at` of `chunks`.
// Errors: bad_field for a chunk whose size cannot be right; errors of the source.
Result<ChunkChecksum> read_checksum(const ByteSource& chunks, std::uint64_t at);
// The offset, in the source of the chunks, of the chunk that the index entry `entry` (>= 0) names.
std::uint64_t stored_offset(const FrameHeader& header, std::int64_t entry) noexcept;

// Reads all bytes of the stored chunk that `entry` names, and compares them with `known`.  Does
// nothing for a chunk that is not stored, or without a checksum.
// Errors: checksum, with the chunk's offset in its file; errors of the source.
Status verify_chunk(const ByteSource& chunks, const FrameHeader& header, std::int64_t entry,
                    const ChunkChecksum& known);

// The checksums of a frame, and whether they count.
struct FrameChecksums {
  enum class State : std::uint8_t {
    none,   // no checksums
    stale,  // another program changed the frame since they were made: they do not count
    valid,
  };
  State state = State::none;
  std::vector<ChunkChecksum> chunks;  // if valid: one for each chunk

  // `chunk` is below the number of chunks.
  [[nodiscard]] ChunkChecksum of(ChunkIndex chunk) const {
    return state == State::valid ? chunks[chunk.value] : ChunkChecksum{};
  }
  // Those of `count` chunks from `first` on; nothing if none count.
  [[nodiscard]] std::vector<ChunkChecksum> of(ChunkIndex first, std::uint64_t count) const {
    if (state != State::valid) return {};
    const auto begin = chunks.begin() + static_cast<std::ptrdiff_t>(first.value);
    return {begin, begin + static_cast<std::ptrdiff_t>(count)};
  }
};
// `source` is that of the frame.
// Errors: checksum if the trailer, the checksums or the index are damaged; over_limit for more than
// kMaxChecksums; errors of reading them.
Result<FrameChecksums> read_checksums(const Frame& frame, const ByteSource& source,
                                      const Limits& limits);

// Encodes a sealed trailer with checksums.  `checksums` has one for each of `entries`, the index.
// `others` has no layer kChecksumLayer.
// Errors: over_limit for more than kMaxChecksums; those of encode_trailer().
Result<std::vector<std::byte>> encode_trailer_with_checksums(
    std::span<const NamedContent> others, std::span<const std::int64_t> entries,
    std::span<const ChunkChecksum> checksums);

}  // namespace framefs::codec
