#include "codec/compressor/stream_format.h"

#include "codec/compressor/ndlz.h"
#include "codec/compressor/zfp.h"
#include "codec/core/id_names.h"

namespace framefs::codec {
namespace {

// Offsets in the chunk header.
constexpr std::uint64_t kFlagsAt = 2;
constexpr std::uint64_t kCodecIdAt = 22;
constexpr std::uint64_t kCodecMetaAt = 23;

Status check_zfp(const StreamFormat& format) {
  if (!has_zfp()) {
    return fail_value(Errc::unsupported, codec_label(format.plugin_id), kCodecIdAt,
                      format.plugin_id);
  }
  if (format.typesize != sizeof(float) && format.typesize != sizeof(double)) {
    return fail_value(Errc::bad_field, "typesize of a zfp chunk", kCodecIdAt, format.typesize);
  }
  if (!format.block_shape) return fail(Errc::bad_field, "zfp chunk without an array", kCodecIdAt);
  const auto ndim = format.block_shape->ndim;
  if (ndim == 0 || ndim > kMaxZfpDims) {
    return fail_value(Errc::bad_field, "ndim of a zfp chunk", kCodecIdAt, ndim);
  }
  return {};
}

Status check_plugin(const StreamFormat& format) {
  switch (format.plugin_id) {
    case kCodecNdlz:
      if (!is_ndlz_cell_side(format.plugin_meta)) {
        return fail_value(Errc::bad_field, "cell side of ndlz", kCodecMetaAt, format.plugin_meta);
      }
      return {};
    case kCodecZfpAccuracy:
    case kCodecZfpPrecision:
    case kCodecZfpRate:
      return check_zfp(format);
    default:
      return fail_value(Errc::unsupported, codec_label(format.plugin_id), kCodecIdAt,
                        format.plugin_id);
  }
}

Status unsupported_format(CodecFormat format, const char* label) {
  return fail_value(Errc::unsupported, label, kFlagsAt, static_cast<std::int64_t>(format));
}

}  // namespace

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

Status check_stream_format(const StreamFormat& format) {
  switch (format.codec) {
    case CodecFormat::blosclz:
    case CodecFormat::lz4:
    case CodecFormat::snappy:
    case CodecFormat::zlib:
    case CodecFormat::zstd:
      return {};
    case CodecFormat::lizard:
      return unsupported_format(format.codec, "codec lizard");
    case CodecFormat::superchunk:
      return unsupported_format(format.codec, "codec superchunk");
    case CodecFormat::plugin:
      break;
  }
  return check_plugin(format);
}

}  // namespace framefs::codec
