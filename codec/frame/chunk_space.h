#pragma once

#include <cstdint>
#include <limits>

namespace framefs::codec {

// Maps the chunk files of a sparse frame to one address space, so that code that reads chunks sees
// a single ByteSource.  Each chunk of a sparse frame is a file named after a 32-bit id.  The file
// of an id begins at address chunk_file_at(id); addresses after the end of a file have no bytes.  A
// chunk always fits in its part of the address space, because its size is a signed 32-bit number.
// Source: frame format, "Sparse frames"; chunk format, "cbytes".
inline constexpr std::uint64_t kMaxChunkFileId = std::numeric_limits<std::uint32_t>::max();
inline constexpr unsigned kChunkFileShift = 31;

constexpr std::uint64_t chunk_file_at(std::uint32_t id) noexcept {
  return std::uint64_t{id} << kChunkFileShift;
}

// The inverse: the file of an address, and the offset in the file.
struct ChunkFilePlace {
  std::uint32_t id = 0;
  std::uint64_t offset = 0;
};
constexpr ChunkFilePlace chunk_file_place(std::uint64_t address) noexcept {
  constexpr std::uint64_t kOffsetMask = (std::uint64_t{1} << kChunkFileShift) - 1;
  return {static_cast<std::uint32_t>(address >> kChunkFileShift), address & kOffsetMask};
}

}  // namespace framefs::codec
