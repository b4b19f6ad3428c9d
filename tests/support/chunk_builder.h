#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "tests/support/bytes.h"

namespace framefs::test {

// The codec of a chunk.  `memcpy` is none: the body is the data as they are.
enum class Codec : std::uint8_t { memcpy, blosclz, lz4, lz4hc, zlib, zstd };

// Filters a builder can run forward.  The values are the ids that stand in the filter slots.
enum class Filter : std::uint8_t { shuffle = 1, bitshuffle = 2, delta = 3, bytedelta = 35 };

// Chunks that consist of a rule.  The values are the ids in bits 4-6 of byte 31.
enum class SpecialKind : std::uint8_t { zero = 1, nan = 2, value = 3, uninit = 4 };

// A codec that is no part of the format itself.
struct PluginCodec {
  std::uint8_t id = 0;
  std::uint8_t meta = 0;
  std::function<Bytes(std::span<const std::byte>)> encode;  // one stream
};

// ndcell, which runs before all other filters.
struct CellFilter {
  std::uint8_t side = 1;
  std::vector<std::uint32_t> block_shape;  // items, which are of the spec's typesize
};

// How build_chunk() lays out a chunk.  Nothing is decided behind the caller's back: the form asked
// for comes out, even where a real writer would have fallen back to another.
struct ChunkSpec {
  Codec codec = Codec::lz4;
  int level = 5;                // of zlib and zstd
  std::uint32_t typesize = 4;   // above 255 the header says 1, as the format has it
  std::uint32_t blocksize = 0;  // 0: one block
  std::vector<Filter> filters;  // in the order in which a writer runs them; at most six
  bool split = false;           // one stream per byte of the type; blocksize a multiple of typesize
  bool token_runs = true;       // streams of one repeated byte are tokens instead of codec data
  Bytes dictionary;             // not empty: stored, and used by lz4 and zstd
  // Not empty: variable-length blocks of these decoded lengths, which sum up to the data's.
  std::vector<std::uint32_t> vl_block_bytes;
  std::optional<PluginCodec> plugin = std::nullopt;  // takes the place of `codec`
  std::optional<CellFilter> cells = std::nullopt;
  // The 16-byte header of Blosc1.  Its filters are told by flags, so at most delta, then one
  // shuffle.
  bool blosc1_header = false;
  // Whatever this says, 6 is written for vl_block_bytes and 2 for blosc1_header.
  std::uint8_t version = 5;
};

// Encodes `data` as one chunk.  A spec that contradicts itself ends the process: a test is wrong
// then.
// Source: chunk format; format of variable-length blocks.
Bytes build_chunk(std::span<const std::byte> data, const ChunkSpec& spec);

// A stored chunk of `nbytes` that follow from a rule; `value` is what repeats for
// SpecialKind::value.
// Source: chunk format, blosc2_flags bits 4-6.
Bytes build_special_chunk(SpecialKind kind, std::uint32_t nbytes, std::uint32_t typesize,
                          std::span<const std::byte> value = {});

// The codec's number in a frame's header, which is not the format number in a chunk's flags.
std::uint8_t codec_number(Codec codec);

}  // namespace framefs::test
