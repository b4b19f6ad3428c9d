#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "codec/core/result.h"

struct ZSTD_CCtx_s;
struct ZSTD_CDict_s;
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

// Makes a dictionary of `most` bytes or fewer from samples of what is to be encoded: `samples` holds
// one after the other, of the sizes in `sample_bytes`, which add up to its own.  Empty where the
// samples are too few or have too little in common for one.
// Source: chunk format, codecs and dictionaries.
std::vector<std::byte> train_zstd_dictionary(std::span<const std::byte> samples,
                                             std::span<const std::size_t> sample_bytes,
                                             std::size_t most);

// A dictionary ready for encoding at one level; owns a copy of its bytes.  Immutable: any number of
// encoders, in any threads, may use it at once.
class ZstdEncoderDictionary {
 public:
  // `level` is the library's, 1..22.  Errors: system, where there is no memory.
  static Result<ZstdEncoderDictionary> make(std::span<const std::byte> bytes, int level);

 private:
  friend class ZstdEncoder;
  struct Free {
    void operator()(ZSTD_CDict_s* dictionary) const noexcept;
  };

  explicit ZstdEncoderDictionary(ZSTD_CDict_s* dictionary) noexcept : dictionary_(dictionary) {}

  std::unique_ptr<ZSTD_CDict_s, Free> dictionary_;  // null only when moved from
};

// Encodes zstd streams, each one frame that tells its content's size.  Threads: one at a time.
class ZstdEncoder {
 public:
  // Errors: system, where there is no memory.
  static Result<ZstdEncoder> make();

  // Encodes `in` into the head of `out` and returns how many bytes that took, 0 where `out` has no
  // room.  `level` is the library's, 1..22; a `dictionary`, which may be null, has its own.
  // Errors: system, where there is no memory; internal, with the library's error number, for what
  //   should not happen.
  Result<std::size_t> encode(int level, std::span<const std::byte> in, std::span<std::byte> out,
                             const ZstdEncoderDictionary* dictionary);

 private:
  struct Free {
    void operator()(ZSTD_CCtx_s* context) const noexcept;
  };

  explicit ZstdEncoder(ZSTD_CCtx_s* context) noexcept : context_(context) {}

  std::unique_ptr<ZSTD_CCtx_s, Free> context_;  // null only when moved from
};

}  // namespace framefs::codec
