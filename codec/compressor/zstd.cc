#include "codec/compressor/zstd.h"

#include <cerrno>

#include <zstd.h>
#include <zstd_errors.h>

namespace framefs::codec {
namespace {

std::unexpected<Error> out_of_memory(const char* field) {
  return std::unexpected(Error{.kind = Errc::system, .field = field, .sys = ENOMEM});
}

std::unexpected<Error> stream_error(ZSTD_ErrorCode code) {
  // The library has some thirty errors; those that the caller can tell apart are named here.
  if (code == ZSTD_error_memory_allocation) return out_of_memory("zstd decoder");
  if (code == ZSTD_error_srcSize_wrong) {
    return fail_value(Errc::truncated, "zstd stream", 0, code);
  }
  if (code == ZSTD_error_checksum_wrong) {
    return fail_value(Errc::checksum, "zstd stream", 0, code);
  }
  if (code == ZSTD_error_dstSize_tooSmall) {
    return fail_value(Errc::bad_field, "zstd decoded size", 0, code);
  }
  if (code == ZSTD_error_dictionary_wrong) {
    return fail_value(Errc::bad_field, "dictionary", 0, code);
  }
  return fail_value(Errc::bad_field, "zstd stream", 0, code);
}

}  // namespace

void ZstdDictionary::Free::operator()(ZSTD_DDict_s* dictionary) const noexcept {
  ZSTD_freeDDict(dictionary);
}

Result<ZstdDictionary> ZstdDictionary::make(std::span<const std::byte> bytes) {
  ZstdDictionary dictionary(ZSTD_createDDict(bytes.data(), bytes.size()));
  if (!dictionary.dictionary_) return fail(Errc::bad_field, "dictionary");
  return dictionary;
}

std::size_t ZstdDictionary::memory_bytes() const noexcept {
  return ZSTD_sizeof_DDict(dictionary_.get());
}

void ZstdDecoder::Free::operator()(ZSTD_DCtx_s* context) const noexcept { ZSTD_freeDCtx(context); }

Result<ZstdDecoder> ZstdDecoder::make() {
  ZstdDecoder decoder(ZSTD_createDCtx());
  if (!decoder.context_) return out_of_memory("zstd decoder");
  return decoder;
}

Status ZstdDecoder::decode(std::span<const std::byte> in, std::span<std::byte> out,
                           const ZstdDictionary* dictionary) {
  // A null dictionary is none to the library too.
  const std::size_t produced =
      ZSTD_decompress_usingDDict(context_.get(), out.data(), out.size(), in.data(), in.size(),
                                 dictionary == nullptr ? nullptr : dictionary->dictionary_.get());
  if (ZSTD_isError(produced) != 0) return stream_error(ZSTD_getErrorCode(produced));
  if (produced != out.size()) {
    return fail_value(Errc::bad_field, "zstd decoded size", in.size(),
                      static_cast<std::int64_t>(produced));
  }
  return {};
}

}  // namespace framefs::codec
