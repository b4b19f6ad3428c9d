#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "codec/core/result.h"

struct libdeflate_compressor;
struct libdeflate_decompressor;

namespace framefs::codec {

// The version of libdeflate that this program was built with; the library does not tell its own.
const char* libdeflate_version() noexcept;

// Decodes zlib streams (RFC 1950).  Threads: one at a time.
class ZlibDecoder {
 public:
  // Errors: system, if memory runs out.
  static Result<ZlibDecoder> make();

  // Decodes one stream, which must fill `out` exactly.  Bytes after its end are ignored, as in
  // zlib's own uncompress(), which the reference library uses.
  // Errors: bad_field, also for a wrong checksum.  The content of `out` is then undefined; the
  // decoder can still be used.
  // Source: chunk format, codecs and dictionaries.
  Status decode(std::span<const std::byte> in, std::span<std::byte> out);

 private:
  struct Free {
    void operator()(libdeflate_decompressor* decompressor) const noexcept;
  };

  explicit ZlibDecoder(libdeflate_decompressor* decompressor) noexcept
      : decompressor_(decompressor) {}

  std::unique_ptr<libdeflate_decompressor, Free> decompressor_;  // null only when moved from
};

// Encodes zlib streams (RFC 1950).  Threads: one at a time.
class ZlibEncoder {
 public:
  // `level` is 1..9.  Errors: system, if memory runs out.
  static Result<ZlibEncoder> make(int level);

  [[nodiscard]] int level() const noexcept { return level_; }

  // Encodes `in` into the head of `out` and returns the encoded size, or 0 if `out` has no room.
  std::size_t encode(std::span<const std::byte> in, std::span<std::byte> out);

 private:
  struct Free {
    void operator()(libdeflate_compressor* compressor) const noexcept;
  };

  ZlibEncoder(int level, libdeflate_compressor* compressor) noexcept
      : level_(level), compressor_(compressor) {}

  int level_;
  std::unique_ptr<libdeflate_compressor, Free> compressor_;  // null only when moved from
};

}  // namespace framefs::codec
