#pragma once

#include <cstdint>
#include <optional>

#include "codec/core/block_shape.h"
#include "codec/core/result.h"

namespace framefs::codec {

// The codec of a chunk's streams, from bits 5-7 of its flags.
// Source: chunk format, flag bits.
enum class CodecFormat : std::uint8_t {
  blosclz = 0,
  lz4 = 1,  // for LZ4HC too
  snappy = 2,
  zlib = 3,
  zstd = 4,
  lizard = 5,
  plugin = 6,
  superchunk = 7,
};

const char* codec_format_name(CodecFormat format) noexcept;

// Ids of the plugin codecs that framefs decodes.  Source: chunk format, "Plugin codecs";
// codecs-registry.h.
inline constexpr std::uint8_t kCodecNdlz = 32;
inline constexpr std::uint8_t kCodecZfpAccuracy = 33;
inline constexpr std::uint8_t kCodecZfpPrecision = 34;
inline constexpr std::uint8_t kCodecZfpRate = 35;

// Everything besides the bytes that decoding a chunk's streams needs.  Only plugins need more than
// the first field.
struct StreamFormat {
  CodecFormat codec = CodecFormat::blosclz;
  std::uint8_t plugin_id = 0;
  std::uint8_t plugin_meta = 0;  // the codec's parameter
  std::uint32_t typesize = 1;    // of the frame's items
  std::optional<BlockShape> block_shape = std::nullopt;
};

// Checks whether streams of this format can be decoded, as far as the format alone tells.
// Errors: unsupported for a codec that this build lacks, which the field names, with its number as
// the value; bad_field for invalid parameters or an invalid array.  `at` is the offset in the chunk
// header.
Status check_stream_format(const StreamFormat& format);

}  // namespace framefs::codec
