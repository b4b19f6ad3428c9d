#include "codec/compressor/zlib.h"

#include <cerrno>

#include <libdeflate.h>

namespace framefs::codec {

const char* libdeflate_version() noexcept { return LIBDEFLATE_VERSION_STRING; }

void ZlibDecoder::Free::operator()(libdeflate_decompressor* decompressor) const noexcept {
  libdeflate_free_decompressor(decompressor);
}

Result<ZlibDecoder> ZlibDecoder::make() {
  ZlibDecoder decoder(libdeflate_alloc_decompressor());
  if (!decoder.decompressor_) {
    return std::unexpected(Error{.kind = Errc::system, .field = "zlib decoder", .sys = ENOMEM});
  }
  return decoder;
}

Status ZlibDecoder::decode(std::span<const std::byte> in, std::span<std::byte> out) {
  std::size_t consumed = 0;
  // With a null pointer for the decoded size, the library requires that all of `out` is filled.
  const auto result = libdeflate_zlib_decompress_ex(decompressor_.get(), in.data(), in.size(),
                                                    out.data(), out.size(), &consumed, nullptr);
  switch (result) {
    case LIBDEFLATE_SUCCESS:
      return {};
    case LIBDEFLATE_BAD_DATA:
      break;
    case LIBDEFLATE_SHORT_OUTPUT:
    case LIBDEFLATE_INSUFFICIENT_SPACE:
      return fail(Errc::bad_field, "zlib decoded size");
  }
  return fail(Errc::bad_field, "zlib stream");
}

void ZlibEncoder::Free::operator()(libdeflate_compressor* compressor) const noexcept {
  libdeflate_free_compressor(compressor);
}

Result<ZlibEncoder> ZlibEncoder::make(int level) {
  ZlibEncoder encoder(level, libdeflate_alloc_compressor(level));
  if (!encoder.compressor_) {
    return std::unexpected(Error{.kind = Errc::system, .field = "zlib encoder", .sys = ENOMEM});
  }
  return encoder;
}

std::size_t ZlibEncoder::encode(std::span<const std::byte> in, std::span<std::byte> out) {
  return libdeflate_zlib_compress(compressor_.get(), in.data(), in.size(), out.data(), out.size());
}

}  // namespace framefs::codec
