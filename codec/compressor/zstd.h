#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "codec/core/result.h"

struct ZSTD_DCtx_s;
struct ZSTD_DDict_s;

namespace framefs::codec {

// A dictionary ready for decoding; owns a copy of its bytes.  Immutable: any number of decoders, in
// any threads, may use it at once.
class ZstdDictionary {
 public:
  // Takes a trained dictionary, or text; the bytes themselves tell which.
  // Errors: bad_field, "dictionary", where they begin as a trained one and are not.
  static Result<ZstdDictionary> make(std::span<const std::byte> bytes);

  [[nodiscard]] std::size_t memory_bytes() const noexcept;

 private:
  friend class ZstdDecoder;
  struct Free {
    void operator()(ZSTD_DDict_s* dictionary) const noexcept;
  };

  explicit ZstdDictionary(ZSTD_DDict_s* dictionary) noexcept : dictionary_(dictionary) {}

  std::unique_ptr<ZSTD_DDict_s, Free> dictionary_;  // null only when moved from
};

// Decodes zstd streams.  Threads: one at a time.
class ZstdDecoder {
 public:
  // Errors: system, where there is no memory.
  static Result<ZstdDecoder> make();

  // Decodes the frames that `in` holds, which must fill `out` exactly; `dictionary` may be null.
  // Errors: truncated, bad_field, checksum, with the library's error number as the value; system,
  //   where there is no memory.  `out` then holds unspecified bytes; the decoder is good for
  //   further use.
  // Source: chunk format, codecs and dictionaries.
  Status decode(std::span<const std::byte> in, std::span<std::byte> out,
                const ZstdDictionary* dictionary);

 private:
  struct Free {
    void operator()(ZSTD_DCtx_s* context) const noexcept;
  };

  explicit ZstdDecoder(ZSTD_DCtx_s* context) noexcept : context_(context) {}

  std::unique_ptr<ZSTD_DCtx_s, Free> context_;  // null only when moved from
};

}  // namespace framefs::codec
