#pragma once

#include <cstdint>

#include "codec/compressor/stream_encoder.h"
#include "codec/core/result.h"
#include "codec/filter/pipeline.h"

namespace framefs::codec {

// Whether a block becomes one stream or, if its bytes were shuffled, one stream for each byte of an
// item.  The numbers are those of FrameHeader::splitmode.
enum class SplitMode : std::uint8_t {
  always = 1,
  never = 2,
  automatic = 3,
  forward_compatible = 4
};

// Chunk headers have the typesize 1 in place of larger ones.
inline constexpr std::uint32_t kLargestTypesizeInHeader = 255;

// Parameters for encoding a chunk.
struct EncodeParams {
  CodecId codec = CodecId::zstd;
  int clevel = 5;              // 0 (no compression) to 9
  std::uint32_t typesize = 1;  // of the frame; may exceed 255, unlike in chunk headers
  FilterSlots filters{};
  std::uint32_t blocksize = 0;  // bytes; 0: chosen from codec, level and split mode
  SplitMode split = SplitMode::forward_compatible;
  bool use_dict = false;  // one dictionary per chunk, if the codec is zstd
  // A chunk of zeros is not stored, because a frame's index has a code for it.
  bool omit_zero_chunks = true;
};

// Errors: bad_field for a level, typesize, block size or filter parameter out of range; unsupported
// for a filter that framefs does not write.
Status check_params(const EncodeParams& params);

// The decoded size of the blocks of a chunk of `nbytes`.  It is a multiple of the typesize if
// nbytes is at least the typesize, never more than nbytes, and never 0.
// Source: chunk format, "Encoding"; stune.c for what the reference library chooses.
std::uint32_t blocksize_for(const EncodeParams& params, std::uint32_t nbytes);

// Whether full blocks of that size are split into streams, one for each byte of an item.
bool splits_blocks(const EncodeParams& params, std::uint32_t blocksize);

}  // namespace framefs::codec
