#include "codec/compressor/stream_decoder.h"

#include "codec/compressor/blosclz.h"
#include "codec/compressor/lz4.h"

namespace framefs::codec {

const char* codec_format_name(CodecFormat format) noexcept {
  switch (format) {
    case CodecFormat::blosclz:
      return "blosclz";
    case CodecFormat::lz4:
      return "lz4";
    case CodecFormat::snappy:
      return "snappy";
    case CodecFormat::zlib:
      return "zlib";
    case CodecFormat::zstd:
      return "zstd";
    case CodecFormat::lizard:
      return "lizard";
    case CodecFormat::plugin:
      return "plugin";
    case CodecFormat::superchunk:
      return "superchunk";
  }
  return "unknown";
}

bool is_codec_supported(CodecFormat format) noexcept {
  switch (format) {
    case CodecFormat::blosclz:
    case CodecFormat::lz4:
    case CodecFormat::zlib:
    case CodecFormat::zstd:
      return true;
    case CodecFormat::snappy:
    case CodecFormat::lizard:
    case CodecFormat::plugin:
    case CodecFormat::superchunk:
      return false;
  }
  return false;
}

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

Status StreamDecoder::decode(CodecFormat format, std::span<const std::byte> in,
                             std::span<std::byte> out, const Dictionary* dictionary) {
  if (dictionary != nullptr && dictionary->format_ != format) {
    return fail(Errc::internal, "dictionary");
  }
  switch (format) {
    case CodecFormat::blosclz:
      return decode_blosclz(in, out);
    case CodecFormat::lz4:
      if (dictionary == nullptr) return decode_lz4(in, out, {});
      return decode_lz4(in, out, dictionary->text_);
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
    case CodecFormat::snappy:
    case CodecFormat::lizard:
    case CodecFormat::plugin:
    case CodecFormat::superchunk:
      break;
  }
  return fail_value(Errc::unsupported, "codec", 0, static_cast<std::int64_t>(format));
}

}  // namespace framefs::codec
