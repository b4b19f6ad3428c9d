#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "codec/core/result.h"

union LZ4_stream_u;    // NOLINT(readability-identifier-naming): a name of liblz4
union LZ4_streamHC_u;  // NOLINT(readability-identifier-naming): as above

namespace framefs::codec {

// The version of the library that is in use, as "1.9.4".
const char* lz4_version() noexcept;

// Encodes raw LZ4 blocks.  Threads: one at a time.
class Lz4Encoder {
 public:
  // Errors: system, if memory runs out.
  static Result<Lz4Encoder> make();

  // Encodes `in` into the head of `out` and returns the encoded size, or 0 if `out` has no room.
  // `acceleration` trades ratio for speed; 1 is the slowest.
  // Errors: over_limit for buffers of 2 GiB or more.
  // Lifetime: the buffers do not overlap.
  Result<std::size_t> encode(int acceleration, std::span<const std::byte> in,
                             std::span<std::byte> out);

 private:
  struct Free {
    void operator()(LZ4_stream_u* state) const noexcept;
  };
  explicit Lz4Encoder(LZ4_stream_u* state) noexcept : state_(state) {}

  std::unique_ptr<LZ4_stream_u, Free> state_;  // null only when moved from
};

// The same with a slower search for longer matches.  Threads: one at a time.
class Lz4HcEncoder {
 public:
  // Errors: system, if memory runs out.
  static Result<Lz4HcEncoder> make();

  // As Lz4Encoder::encode(); `level` is the library's, 1..12.
  Result<std::size_t> encode(int level, std::span<const std::byte> in, std::span<std::byte> out);

 private:
  struct Free {
    void operator()(LZ4_streamHC_u* state) const noexcept;
  };
  explicit Lz4HcEncoder(LZ4_streamHC_u* state) noexcept : state_(state) {}

  std::unique_ptr<LZ4_streamHC_u, Free> state_;  // null only when moved from
};

}  // namespace framefs::codec
