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

// The version of the library that is in use, as "1.5.4".
const char* zstd_version() noexcept;

// A dictionary ready for decoding.  Owns a copy of its bytes.  Immutable; any number of decoders
// and threads may use it at once.
class ZstdDictionary {
 public:
  // Accepts a trained dictionary or plain content; the first bytes tell which.
  // Errors: bad_field, "dictionary", if the bytes begin like a trained dictionary but are not one.
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
  // Errors: system, if memory runs out.
  static Result<ZstdDecoder> make();

  // Decodes the zstd frames in `in`, which must fill `out` exactly.  `dictionary` may be null.
  // Errors: truncated, bad_field, checksum, with the library's error number as the value; system,
  // if memory runs out.  The content of `out` is then undefined; the decoder can still be used.
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

// Trains a dictionary of at most `most` bytes.  `samples` holds the samples one after the other,
// with the sizes in `sample_bytes`.  Returns an empty vector if there are too few samples or they
// have too little in common.
// Source: chunk format, codecs and dictionaries.
std::vector<std::byte> train_zstd_dictionary(std::span<const std::byte> samples,
                                             std::span<const std::size_t> sample_bytes,
                                             std::size_t most);

// A dictionary ready for encoding at one level.  Owns a copy of its bytes.  Immutable; any number
// of encoders and threads may use it at once.
class ZstdEncoderDictionary {
 public:
  // `level` is the library's, 1..22.  Errors: system, if memory runs out.
  static Result<ZstdEncoderDictionary> make(std::span<const std::byte> bytes, int level);

 private:
  friend class ZstdEncoder;
  struct Free {
    void operator()(ZSTD_CDict_s* dictionary) const noexcept;
  };

  explicit ZstdEncoderDictionary(ZSTD_CDict_s* dictionary) noexcept : dictionary_(dictionary) {}

  std::unique_ptr<ZSTD_CDict_s, Free> dictionary_;  // null only when moved from
};

// Encodes zstd streams.  Each is one frame that stores its content size.  Threads: one at a time.
class ZstdEncoder {
 public:
  // Errors: system, if memory runs out.
  static Result<ZstdEncoder> make();

  // Encodes `in` into the head of `out` and returns the encoded size, or 0 if `out` has no room.
  // `level` is the library's, 1..22.  `dictionary` may be null; otherwise its own level is used.
  // Errors: system, if memory runs out; internal, with the library's error number, for unexpected
  // errors.
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
