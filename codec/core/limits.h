#pragma once

#include <cstddef>
#include <cstdint>

namespace framefs::codec {

// The format's own maxima.  Source: blosc2.h (BLOSC2_MAX_BUFFERSIZE, MAXBLOCKSIZE,
// BLOSC2_MAX_METALAYERS, BLOSC2_MAX_VLMETALAYERS, BLOSC2_METALAYER_NAME_MAXLEN); b2nd.h
// (B2ND_MAX_DIM, 8 before release 2.21.3).
inline constexpr std::uint32_t kMaxChunkBytes = 2147483615;
inline constexpr std::uint32_t kMaxBlockBytes = 536866816;
inline constexpr std::uint32_t kMaxDictBytes = 32768;
inline constexpr std::uint64_t kMaxChunks = 268435455;
inline constexpr std::uint16_t kMaxMetalayers = 16;
inline constexpr std::uint16_t kMaxVlMetalayers = 8192;
inline constexpr std::uint8_t kMaxMetalayerName = 31;
inline constexpr std::size_t kMaxDims = 16;

// The most memory that a caller grants to one structure of an untrusted file.  A larger structure
// is refused with Errc::over_limit before it is allocated.
struct Limits {
  std::uint64_t block_bytes = 256u << 20;         // one decoded block
  std::uint64_t chunk_table_bytes = 4u << 20;     // block starts, or repeated value, of one chunk
  std::uint64_t chunk_sizes_bytes = 16u << 20;    // the sizes of chunks that vary, 4 bytes for each
  std::uint64_t frame_header_bytes = 16u << 20;   // frame header, metalayers included
  std::uint64_t frame_trailer_bytes = 64u << 20;  // trailer, vl-metalayers included
  std::uint64_t vlmeta_bytes = 64u << 20;         // one decoded vl-metalayer
  std::uint64_t array_meta_bytes = 256u << 10;    // the metalayer of an array
  std::uint64_t fetched_bytes = 8u << 20;         // the record of a cache of remote data
};

}  // namespace framefs::codec
