#pragma once

#include <cstdint>
#include <limits>

namespace framefs::codec {

// The chunks of a sparse frame are files of their own, named after a 32-bit id.  To everything that
// reads chunks they look like one ByteSource: the file of an id begins at chunk_file_at(id), and
// between the end of one file and the beginning of the next there is nothing to read.  No chunk is
// longer than its share, since a chunk's size is a signed 32-bit number.
// Source: sparse frame format; chunk format, "cbytes".
inline constexpr std::uint64_t kMaxChunkFileId = std::numeric_limits<std::uint32_t>::max();
inline constexpr unsigned kChunkFileShift = 31;

constexpr std::uint64_t chunk_file_at(std::uint32_t id) noexcept {
  return std::uint64_t{id} << kChunkFileShift;
}

// The other way round: which file an address lies in, and where in it.
struct ChunkFilePlace {
  std::uint32_t id = 0;
  std::uint64_t offset = 0;
};
constexpr ChunkFilePlace chunk_file_place(std::uint64_t address) noexcept {
  constexpr std::uint64_t kOffsetMask = (std::uint64_t{1} << kChunkFileShift) - 1;
  return {static_cast<std::uint32_t>(address >> kChunkFileShift), address & kOffsetMask};
}

}  // namespace framefs::codec
