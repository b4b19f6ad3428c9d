#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "codec/compressor/stream_format.h"
#include "codec/core/result.h"
#include "codec/filter/pipeline.h"

namespace framefs::codec {

inline constexpr std::uint32_t kShortHeaderBytes = 16;     // Blosc1 and early Blosc2
inline constexpr std::uint32_t kExtendedHeaderBytes = 32;  // everything since the Blosc2 betas

// The rule of a chunk whose bytes are computed instead of stored.
// Source: chunk format, blosc2_flags bits 4-6.
enum class Special : std::uint8_t { none = 0, zero = 1, nan = 2, value = 3, uninit = 4 };

// The checked header of one chunk.
struct ChunkHeader {
  std::uint8_t version = 0;
  CodecFormat codec = CodecFormat::blosclz;
  std::uint8_t codec_id = 0;    // of a plugin codec; valid if codec is CodecFormat::plugin
  std::uint8_t codec_meta = 0;  // parameter of a plugin codec
  std::uint8_t typesize = 0;    // 1 if the true size exceeds 255
  bool extended = false;        // a 32-byte header instead of 16 bytes
  bool memcpyed = false;        // the body is uncompressed
  bool dont_split = false;      // each block is one stream
  bool has_dict = false;
  bool vl_blocks = false;     // blocks of any length, in order; see chunk.h
  bool instrumented = false;  // holds a tuner's records instead of data; filters were not applied
  Special special = Special::none;
  FilterSlots filters{};
  std::uint32_t nbytes = 0;     // decoded size of the chunk
  std::uint32_t blocksize = 0;  // decoded size of each block except the last; 0 if vl_blocks
  std::uint32_t nblocks = 0;
  std::uint32_t cbytes = 0;  // stored size of the chunk, header included

  bool operator==(const ChunkHeader&) const = default;

  [[nodiscard]] std::uint32_t header_bytes() const noexcept {
    return extended ? kExtendedHeaderBytes : kShortHeaderBytes;
  }
};

// Parses a chunk header and checks every rule that concerns the header alone.  `head` holds the
// first min(32, available) bytes of the chunk; more bytes are allowed.  `available` is the largest
// size that the chunk may have.
// Errors: truncated, bad_field, unsupported (a newer format), each with its offset in the header.
// Source: chunk format, "Header".
Result<ChunkHeader> parse_chunk_header(std::span<const std::byte> head, std::uint64_t available);

// Writes the 32-byte header of a chunk; the inverse of parse_chunk_header().  The header must be
// `extended`, not `instrumented`, and without `vl_blocks`.
// Source: chunk format, "Header".
void encode_chunk_header(const ChunkHeader& header,
                         std::span<std::byte, kExtendedHeaderBytes> out) noexcept;

}  // namespace framefs::codec
