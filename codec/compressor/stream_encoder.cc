#include "codec/compressor/stream_encoder.h"

#include <algorithm>
#include <array>

namespace framefs::codec {
namespace {

constexpr std::array kCodecs = {CodecId::blosclz, CodecId::lz4, CodecId::lz4hc, CodecId::zlib,
                                CodecId::zstd};

// The reference library maps its nine levels to zstd's levels in this way.
int zstd_level(int clevel) {
  constexpr int kHighest = 22;
  return clevel < 9 ? 2 * clevel - 1 : kHighest;
}

// The same for LZ4, where a larger number is faster.
int lz4_acceleration(int clevel) { return 10 - clevel; }

}  // namespace

CodecFormat format_of(CodecId codec) noexcept {
  switch (codec) {
    case CodecId::blosclz:
      return CodecFormat::blosclz;
    case CodecId::lz4:
    case CodecId::lz4hc:
      return CodecFormat::lz4;
    case CodecId::zlib:
      return CodecFormat::zlib;
    case CodecId::zstd:
      return CodecFormat::zstd;
  }
  return CodecFormat::blosclz;
}

const char* codec_name(CodecId codec) noexcept {
  return codec == CodecId::lz4hc ? "lz4hc" : codec_format_name(format_of(codec));
}

std::optional<CodecId> codec_of_name(std::string_view name) noexcept {
  for (const auto codec : kCodecs) {
    if (name == codec_name(codec)) return codec;
  }
  return std::nullopt;
}

std::optional<CodecId> codec_of_number(std::uint8_t number) noexcept {
  const auto codec = static_cast<CodecId>(number);
  if (std::ranges::find(kCodecs, codec) == kCodecs.end()) return std::nullopt;
  return codec;
}

Result<std::optional<EncoderDictionary>> EncoderDictionary::train(
    CodecId codec, int clevel, std::span<const std::byte> samples,
    std::span<const std::size_t> sample_bytes, std::size_t most) {
  if (codec != CodecId::zstd) return std::nullopt;
  auto bytes = train_zstd_dictionary(samples, sample_bytes, most);
  if (bytes.empty()) return std::nullopt;
  FRAMEFS_TRY(auto zstd, ZstdEncoderDictionary::make(bytes, zstd_level(clevel)));
  return EncoderDictionary(std::move(bytes), std::move(zstd));
}

Result<std::size_t> StreamEncoder::encode(CodecId codec, int clevel, std::span<const std::byte> in,
                                          std::span<std::byte> out,
                                          const EncoderDictionary* dictionary) {
  switch (codec) {
    case CodecId::blosclz:
      return blosclz_.encode(clevel, in, out);
    case CodecId::lz4:
      if (!lz4_) {
        FRAMEFS_TRY(lz4_, Lz4Encoder::make());
      }
      return lz4_->encode(lz4_acceleration(clevel), in, out);
    case CodecId::lz4hc:
      if (!lz4hc_) {
        FRAMEFS_TRY(lz4hc_, Lz4HcEncoder::make());
      }
      return lz4hc_->encode(clevel, in, out);
    case CodecId::zlib:
      if (!zlib_ || zlib_->level() != clevel) {
        FRAMEFS_TRY(zlib_, ZlibEncoder::make(clevel));
      }
      return zlib_->encode(in, out);
    case CodecId::zstd:
      if (!zstd_) {
        FRAMEFS_TRY(zstd_, ZstdEncoder::make());
      }
      return zstd_->encode(zstd_level(clevel), in, out,
                           dictionary == nullptr ? nullptr : &dictionary->zstd_);
  }
  return fail_value(Errc::internal, "codec", 0, static_cast<std::int64_t>(codec));
}

}  // namespace framefs::codec
