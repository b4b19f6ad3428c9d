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

// The codecs we write, by the numbers that stand in frame headers; what stands in a chunk's flags
// is format_of().
// Source: chunk format, "udcompcode"; frame format, "codec_flags".
enum class CodecId : std::uint8_t { blosclz = 0, lz4 = 1, lz4hc = 2, zlib = 4, zstd = 5 };

CodecFormat format_of(CodecId codec) noexcept;
const char* codec_name(CodecId codec) noexcept;
// Nothing for a name that is none of codec_name()'s.
std::optional<CodecId> codec_of_name(std::string_view name) noexcept;
// The codec of a frame header's number; nothing for one we do not write.
std::optional<CodecId> codec_of_number(std::uint8_t number) noexcept;

// The dictionary of one chunk, prepared once for encoding at one level; owns its bytes.  Immutable:
// any number of encoders, in any threads, may use it at once.
// Source: chunk format, codecs and dictionaries.
class EncoderDictionary {
 public:
  // Trains one for `codec` on samples, as train_zstd_dictionary() has them; nothing where none came
  // of it.  Only zstd has dictionaries that all releases read, so other codecs get none.
  // Errors: system, where there is no memory.
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

// One thread's encoding contexts, made on first use and kept.  Threads: one at a time.
class StreamEncoder {
 public:
  // Encodes `in` at `clevel` 1..9 into the head of `out`, and returns how many bytes that took; 0
  // where the codec gave up for want of room or of hope.  `out` then holds unspecified bytes.
  // What comes out depends on the arguments alone.  `dictionary` is null, or one made for the same
  // codec and level.
  // Errors: system, where there is no memory; over_limit for buffers of 2 GiB or more.
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
