#pragma once

#include <cstdint>
#include <map>

#include "codec/core/units.h"

namespace framefs {

// A set of bytes of a file.  Its memory grows with the number of gaps between the bytes, and not
// with the number of ranges: the index of a frame may name the same chunk many millions of times.
// Threads: one.
class UsedRanges {
 public:
  // Adds a range.  Returns whether none of its bytes was in the set.
  bool add(codec::ByteRange range);
  // The number of bytes in the set.
  [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_; }

 private:
  std::map<std::uint64_t, std::uint64_t> ends_;  // of runs of bytes, by their beginnings
  std::uint64_t bytes_ = 0;
};

}  // namespace framefs
