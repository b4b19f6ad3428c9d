#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "codec/core/result.h"

union LZ4_stream_u;
union LZ4_streamHC_u;

namespace framefs::codec {

// Decodes one raw LZ4 block, which must fill `out` exactly and end where `in` does.  A `dictionary`
// that is not empty stands for the text before it.
// Errors: bad_field; over_limit for buffers of 2 GiB or more.  `out` then holds unspecified bytes.
// Source: chunk format, codecs and dictionaries.
Status decode_lz4(std::span<const std::byte> in, std::span<std::byte> out,
                  std::span<const std::byte> dictionary);

// The first `count` bytes of the same: no more of `in` is decoded, or checked, than they need.  What
// `out` holds behind them is unspecified.  Errors: as above.
Status decode_lz4_prefix(std::span<const std::byte> in, std::span<std::byte> out,
                         std::size_t count);

// Encodes raw LZ4 blocks.  Threads: one at a time.
class Lz4Encoder {
 public:
  // Errors: system, where there is no memory.
  static Result<Lz4Encoder> make();

  // Encodes `in` into the head of `out` and returns how many bytes that took, 0 where `out` has no
  // room.  `acceleration` trades ratio for speed, 1 being the slowest.
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
  // Errors: system, where there is no memory.
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
