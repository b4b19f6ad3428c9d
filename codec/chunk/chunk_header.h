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

// Chunks whose bytes follow from a rule and are not stored.
// Source: chunk format, blosc2_flags bits 4-6.
enum class Special : std::uint8_t { none = 0, zero = 1, nan = 2, value = 3, uninit = 4 };

// The checked header of one chunk.
struct ChunkHeader {
  std::uint8_t version = 0;
  CodecFormat codec = CodecFormat::blosclz;
  std::uint8_t codec_id = 0;    // of a plugin codec; meaningful where codec is CodecFormat::plugin
  std::uint8_t codec_meta = 0;  // parameter of a plugin codec
  std::uint8_t typesize = 0;    // 1 where the true one exceeds 255
  bool extended = false;        // 32 bytes of header instead of 16
  bool memcpyed = false;        // the body is the plain bytes
  bool dont_split = false;      // each block is one stream
  bool has_dict = false;
  bool vl_blocks = false;     // blocks of any length, in order; see chunk.h
  bool instrumented = false;  // a tuner's records instead of data; filters were not run
  Special special = Special::none;
  FilterSlots filters{};
  std::uint32_t nbytes = 0;     // decoded size of the chunk
  std::uint32_t blocksize = 0;  // decoded size of every block but the last; 0 where vl_blocks
  std::uint32_t nblocks = 0;
  std::uint32_t cbytes = 0;  // stored size of the chunk, header included

  [[nodiscard]] std::uint32_t header_bytes() const noexcept {
    return extended ? kExtendedHeaderBytes : kShortHeaderBytes;
  }
};

// Reads a chunk header and checks every rule that it can break by itself. `head` is the first
// min(32, available) bytes of the chunk, `available` how many bytes the chunk may take; more than
// it needs is fine.
// Errors: truncated, bad_field, unsupported (a newer format), each with the header's byte offset.
// Source: chunk format, "Header".
Result<ChunkHeader> parse_chunk_header(std::span<const std::byte> head, std::uint64_t available);

// Writes the 32-byte header of a chunk; what parse_chunk_header() reads.  Only for headers that are
// `extended`, not `instrumented`, and without `vl_blocks`.
// Source: chunk format, "Header".
void encode_chunk_header(const ChunkHeader& header,
                         std::span<std::byte, kExtendedHeaderBytes> out) noexcept;

}  // namespace framefs::codec
