#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace framefs::codec {

// Encodes BloscLZ streams.  The table of positions is reused without clearing it between streams;
// the result depends only on the arguments.  Threads: one at a time.
class BlosclzEncoder {
 public:
  // Encodes `in` at level 1..9 into the head of `out` and returns the encoded size.  Returns 0 if
  // `out` has no room, or if the bytes repeat too little to be worth the decoding time.  The
  // content of `out` is then undefined.
  // Errors: none.  Returns 0 at once for inputs of less than 64 bytes, or of 1 GiB and more.
  // Lifetime: the buffers do not overlap.
  // Source: chunk format, BloscLZ streams.
  std::size_t encode(int level, std::span<const std::byte> in, std::span<std::byte> out);

 private:
  // The last position of each hash of four bytes, counted from epoch_.  Smaller values are from
  // earlier streams.
  std::vector<std::uint32_t> table_;
  std::uint32_t epoch_ = 0;
};

}  // namespace framefs::codec
