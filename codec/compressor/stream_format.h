#pragma once

#include <cstdint>
#include <optional>

#include "codec/core/block_shape.h"
#include "codec/core/result.h"

namespace framefs::codec {

// How the streams of a chunk are coded, as bits 5-7 of its flags say.
// Source: chunk format, flag bits.
enum class CodecFormat : std::uint8_t {
  blosclz = 0,
  lz4 = 1,  // LZ4HC writes the same
  snappy = 2,
  zlib = 3,
  zstd = 4,
  lizard = 5,
  plugin = 6,
  superchunk = 7,
};

const char* codec_format_name(CodecFormat format) noexcept;

// Ids of the plugin codecs that are decoded here.  Source: format ids; codecs-registry.h.
inline constexpr std::uint8_t kCodecNdlz = 32;
inline constexpr std::uint8_t kCodecZfpAccuracy = 33;
inline constexpr std::uint8_t kCodecZfpPrecision = 34;
inline constexpr std::uint8_t kCodecZfpRate = 35;

// All that decoding a chunk's streams takes beside their bytes.  Only plugins need more than the
// first field.
struct StreamFormat {
  CodecFormat codec = CodecFormat::blosclz;
  std::uint8_t plugin_id = 0;
  std::uint8_t plugin_meta = 0;  // the codec's parameter
  std::uint32_t typesize = 1;    // of the frame's items
  std::optional<BlockShape> block_shape = std::nullopt;
};

// Whether streams of this format can be decoded, as far as can be told without one.
// Errors: unsupported for a codec this build lacks, named by the field and with its number as the
//   value; bad_field for one whose parameters or array cannot be.  `at` is the place in the chunk
//   header.
Status check_stream_format(const StreamFormat& format);

}  // namespace framefs::codec
