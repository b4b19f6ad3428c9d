#include "codec/compressor/zstd.h"

#include <cerrno>

#include <zdict.h>
#include <zstd.h>
#include <zstd_errors.h>

namespace framefs::codec {

const char* zstd_version() noexcept { return ZSTD_versionString(); }
namespace {

std::unexpected<Error> out_of_memory(const char* field) {
  return std::unexpected(Error{.kind = Errc::system, .field = field, .sys = ENOMEM});
}

std::unexpected<Error> stream_error(ZSTD_ErrorCode code) {
  // The library has about thirty errors.  Errors that callers can act on get a kind of their own.
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
  // The library, too, treats a null dictionary as none.
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

std::vector<std::byte> train_zstd_dictionary(std::span<const std::byte> samples,
                                             std::span<const std::size_t> sample_bytes,
                                             std::size_t most) {
  std::vector<std::byte> dictionary(most);
  const std::size_t trained =
      ZDICT_trainFromBuffer(dictionary.data(), dictionary.size(), samples.data(),
                            sample_bytes.data(), static_cast<unsigned>(sample_bytes.size()));
  dictionary.resize(ZDICT_isError(trained) != 0 ? 0 : trained);
  return dictionary;
}

void ZstdEncoderDictionary::Free::operator()(ZSTD_CDict_s* dictionary) const noexcept {
  ZSTD_freeCDict(dictionary);
}

Result<ZstdEncoderDictionary> ZstdEncoderDictionary::make(std::span<const std::byte> bytes,
                                                          int level) {
  ZstdEncoderDictionary dictionary(ZSTD_createCDict(bytes.data(), bytes.size(), level));
  if (!dictionary.dictionary_) return out_of_memory("dictionary");
  return dictionary;
}

void ZstdEncoder::Free::operator()(ZSTD_CCtx_s* context) const noexcept { ZSTD_freeCCtx(context); }

Result<ZstdEncoder> ZstdEncoder::make() {
  ZstdEncoder encoder(ZSTD_createCCtx());
  if (!encoder.context_) return out_of_memory("zstd encoder");
  return encoder;
}

Result<std::size_t> ZstdEncoder::encode(int level, std::span<const std::byte> in,
                                        std::span<std::byte> out,
                                        const ZstdEncoderDictionary* dictionary) {
  const std::size_t produced =
      dictionary == nullptr
          ? ZSTD_compressCCtx(context_.get(), out.data(), out.size(), in.data(), in.size(), level)
          : ZSTD_compress_usingCDict(context_.get(), out.data(), out.size(), in.data(), in.size(),
                                     dictionary->dictionary_.get());
  if (ZSTD_isError(produced) == 0) return produced;
  const auto code = ZSTD_getErrorCode(produced);
  if (code == ZSTD_error_dstSize_tooSmall) return 0;
  if (code == ZSTD_error_memory_allocation) return out_of_memory("zstd encoder");
  return fail_value(Errc::internal, "zstd encoder", 0, code);
}

}  // namespace framefs::codec
