#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "codec/compressor/blosclz_encoder.h"
#include "codec/compressor/lz4.h"
#include "codec/compressor/stream_decoder.h"
#include "codec/compressor/zlib.h"
#include "codec/compressor/zstd.h"
#include "codec/core/result.h"

namespace framefs::codec {

// The codecs that framefs writes, with their ids in frame headers.  For the number in a chunk's
// flags, see format_of().
// Source: chunk format, "udcompcode"; frame format, "codec_flags".
enum class CodecId : std::uint8_t { blosclz = 0, lz4 = 1, lz4hc = 2, zlib = 4, zstd = 5 };

CodecFormat format_of(CodecId codec) noexcept;
const char* codec_name(CodecId codec) noexcept;
// The inverse of codec_name(); nothing for other names.
std::optional<CodecId> codec_of_name(std::string_view name) noexcept;
// The codec with this id in a frame header; nothing for a codec that framefs does not write.
std::optional<CodecId> codec_of_number(std::uint8_t number) noexcept;

// The dictionary of one chunk, prepared for encoding at one level.  Owns its bytes.  Immutable; any
// number of encoders and threads may use it at once.
// Source: chunk format, codecs and dictionaries.
class EncoderDictionary {
 public:
  // Trains a dictionary for `codec`; the samples are as for train_zstd_dictionary().  Nothing if
  // the training fails.  Only zstd has dictionaries that all releases read; other codecs get none.
  // Errors: system, if memory runs out.
  static Result<std::optional<EncoderDictionary>> train(CodecId codec, int clevel,
                                                        std::span<const std::byte> samples,
                                                        std::span<const std::size_t> sample_bytes,
                                                        std::size_t most);

  [[nodiscard]] std::span<const std::byte> bytes() const noexcept { return bytes_; }

 private:
  friend class StreamEncoder;

  EncoderDictionary(std::vector<std::byte> bytes, ZstdEncoderDictionary zstd) noexcept
      : bytes_(std::move(bytes)), zstd_(std::move(zstd)) {}

  std::vector<std::byte> bytes_;
  ZstdEncoderDictionary zstd_;
};

// Encoding contexts for one thread, created on first use and kept.  Threads: one at a time.
class StreamEncoder {
 public:
  // Encodes `in` at `clevel` 1..9 into the head of `out` and returns the encoded size.  Returns 0
  // if `out` has no room or the codec gave up; the content of `out` is then undefined.
  // The result depends only on the arguments.  `dictionary` is null or was made for this codec and
  // level.
  // Errors: system, if memory runs out; over_limit for buffers of 2 GiB or more.
  // Lifetime: the buffers do not overlap.
  Result<std::size_t> encode(CodecId codec, int clevel, std::span<const std::byte> in,
                             std::span<std::byte> out, const EncoderDictionary* dictionary);

 private:
  BlosclzEncoder blosclz_;
  std::optional<Lz4Encoder> lz4_;
  std::optional<Lz4HcEncoder> lz4hc_;
  std::optional<ZlibEncoder> zlib_;
  std::optional<ZstdEncoder> zstd_;
};

}  // namespace framefs::codec
