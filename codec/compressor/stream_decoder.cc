#include "codec/compressor/stream_decoder.h"

#include "codec/compressor/blosclz.h"
#include "codec/compressor/lz4_decoder.h"
#include "codec/compressor/ndlz.h"
#include "codec/compressor/snappy.h"
#include "codec/compressor/zfp.h"

namespace framefs::codec {

namespace {

ZfpFormat zfp_format(ZfpMode mode, const StreamFormat& format) {
  return {.mode = mode,
          .parameter = format.plugin_meta,
          .typesize = format.typesize,
          .block_shape = format.block_shape.value_or(BlockShape{})};
}

}  // namespace

Result<Dictionary> Dictionary::make(CodecFormat format, std::span<const std::byte> bytes) {
  Dictionary dictionary(format);
  if (format == CodecFormat::lz4) dictionary.text_.assign(bytes.begin(), bytes.end());
  if (format == CodecFormat::zstd) {
    FRAMEFS_TRY(dictionary.zstd_, ZstdDictionary::make(bytes));
  }
  return dictionary;
}

std::size_t Dictionary::memory_bytes() const noexcept {
  return text_.capacity() + (zstd_ ? zstd_->memory_bytes() : 0);
}

Status StreamDecoder::decode(const StreamFormat& format, std::span<const std::byte> in,
                             std::span<std::byte> out, const Dictionary* dictionary) {
  if (dictionary != nullptr && dictionary->format_ != format.codec) {
    return fail(Errc::internal, "dictionary");
  }
  switch (format.codec) {
    case CodecFormat::blosclz:
      return decode_blosclz(in, out);
    case CodecFormat::lz4:
      if (dictionary == nullptr) return decode_lz4(in, out, {});
      return decode_lz4(in, out, dictionary->text_);
    case CodecFormat::snappy:
      return decode_snappy(in, out);
    case CodecFormat::zlib:
      if (!zlib_) {
        FRAMEFS_TRY(zlib_, ZlibDecoder::make());
      }
      return zlib_->decode(in, out);
    case CodecFormat::zstd:
      if (!zstd_) {
        FRAMEFS_TRY(zstd_, ZstdDecoder::make());
      }
      if (dictionary == nullptr || !dictionary->zstd_) return zstd_->decode(in, out, nullptr);
      return zstd_->decode(in, out, &*dictionary->zstd_);
    case CodecFormat::plugin:
    case CodecFormat::lizard:
    case CodecFormat::superchunk:
      break;
  }
  return decode_plugin(format, in, out);
}

bool StreamDecoder::stops_early(const StreamFormat& format, const Dictionary* dictionary) noexcept {
  return format.codec == CodecFormat::blosclz || format.codec == CodecFormat::snappy ||
         (format.codec == CodecFormat::lz4 && dictionary == nullptr);
}

Status StreamDecoder::decode_prefix(const StreamFormat& format, std::span<const std::byte> in,
                                    std::span<std::byte> out, std::size_t count,
                                    const Dictionary* dictionary) {
  if (count == out.size() || !stops_early(format, dictionary)) {
    return decode(format, in, out, dictionary);
  }
  if (format.codec == CodecFormat::lz4) return decode_lz4_prefix(in, out, count);
  if (format.codec == CodecFormat::snappy) return decode_snappy_prefix(in, out, count);
  return decode_blosclz_prefix(in, out, count);
}

Status StreamDecoder::decode_plugin(const StreamFormat& format, std::span<const std::byte> in,
                                    std::span<std::byte> out) {
  FRAMEFS_CHECK(check_stream_format(format));
  switch (format.plugin_id) {
    case kCodecNdlz:
      return decode_ndlz(format.plugin_meta, in, out);
    case kCodecZfpAccuracy:
      return decode_zfp(zfp_format(ZfpMode::accuracy, format), in, out, scratch_);
    case kCodecZfpPrecision:
      return decode_zfp(zfp_format(ZfpMode::precision, format), in, out, scratch_);
    case kCodecZfpRate:
      return decode_zfp(zfp_format(ZfpMode::rate, format), in, out, scratch_);
    default:
      return fail(Errc::internal, "stream format");
  }
}

}  // namespace framefs::codec
