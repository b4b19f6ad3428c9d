#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace framefs::codec {

// Encodes BloscLZ streams.  Keeps a table of positions, which is not cleared from stream to stream;
// what comes out depends on the arguments alone.  Threads: one at a time.
class BlosclzEncoder {
 public:
  // Encodes `in` at level 1..9 into the head of `out`, and returns how many bytes that took; 0 where
  // it gave up: `out` has no room, or the bytes hold too little repetition to be worth a decoder's
  // time.  `out` then holds unspecified bytes.
  // Errors: none.  Inputs of less than 16 bytes, or of 1 GiB and more, are given up at once.
  // Lifetime: the buffers do not overlap.
  // Source: chunk format, BloscLZ streams.
  std::size_t encode(int level, std::span<const std::byte> in, std::span<std::byte> out);

 private:
  // Where each hash of four bytes was met last, counted from epoch_ on; older values are of earlier
  // streams.
  std::vector<std::uint32_t> table_;
  std::uint32_t epoch_ = 0;
};

}  // namespace framefs::codec
