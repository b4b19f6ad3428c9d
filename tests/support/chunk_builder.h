#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "tests/support/bytes.h"

namespace framefs::test {

// The codec of a chunk.  `memcpy` means none: the body is the plain data.
enum class Codec : std::uint8_t { memcpy, blosclz, lz4, lz4hc, snappy, zlib, zstd };

// Filters that a builder can apply.  The values are the ids in the filter slots.
enum class Filter : std::uint8_t { shuffle = 1, bitshuffle = 2, delta = 3, bytedelta = 35 };

// Kinds of chunks that store no data.  The values are those of bits 4-6 of byte 31.
enum class SpecialKind : std::uint8_t { zero = 1, nan = 2, value = 3, uninit = 4 };

// A codec that is not part of the format.
struct PluginCodec {
  std::uint8_t id = 0;
  std::uint8_t meta = 0;
  std::function<Bytes(std::span<const std::byte>)> encode;  // one stream
};

// The ndcell filter, which runs before all other filters.
struct CellFilter {
  std::uint8_t side = 1;
  std::vector<std::uint32_t> block_shape;  // in items of the spec's typesize
};

// Describes the layout of a chunk.  build_chunk() produces exactly this form, even if a real writer
// would choose another one.
struct ChunkSpec {
  Codec codec = Codec::lz4;
  int level = 5;                // for zlib and zstd
  std::uint32_t typesize = 4;   // above 255, the header stores 1, as the format requires
  std::uint32_t blocksize = 0;  // 0: one block
  std::vector<Filter> filters;  // in the order in which a writer applies them; at most six
  bool split = false;      // one stream per byte of an item; blocksize is a multiple of typesize
  bool token_runs = true;  // streams of one repeated byte are stored as tokens
  Bytes dictionary;        // if not empty: stored, and used by lz4 and zstd
  // If not empty: variable-length blocks with these decoded sizes, whose sum is the size of the
  // data.
  std::vector<std::uint32_t> vl_block_bytes;
  std::optional<PluginCodec> plugin = std::nullopt;  // replaces `codec`
  std::optional<CellFilter> cells = std::nullopt;
  // Writes the 16-byte header of Blosc1.  Flags store its filters: at most delta, then one shuffle.
  bool blosc1_header = false;
  // Ignored for vl_block_bytes, which need version 6, and for blosc1_header, which needs version 2.
  std::uint8_t version = 5;
};

// Encodes `data` as one chunk.  Aborts the process if the spec contradicts itself, because the test
// is then wrong.
// Source: chunk format, also "Variable-length blocks".
Bytes build_chunk(std::span<const std::byte> data, const ChunkSpec& spec);

// Builds a chunk whose `nbytes` follow from a rule.  `value` is the repeated item of
// SpecialKind::value.
// Source: chunk format, blosc2_flags bits 4-6.
Bytes build_special_chunk(SpecialKind kind, std::uint32_t nbytes, std::uint32_t typesize,
                          std::span<const std::byte> value = {});

// The codec's number in a frame header.  The format number in a chunk's flags is a different
// number.
std::uint8_t codec_number(Codec codec);

}  // namespace framefs::test
