#pragma once

#include <cstdint>

#include "fs/read/decode_cache.h"
#include "fs/read/read_pattern.h"

namespace framefs::fs {

// The activity of a mount since it was made, for statistics.  Sizes are in bytes.
struct Activity {
  struct Writes {
    std::uint64_t dirty_bytes = 0;   // memory for written bytes, now
    std::uint64_t stored_bytes = 0;  // of encoded chunks
    std::uint64_t commits = 0;       // each of one frame
    std::uint64_t failed_commits = 0;
    std::uint64_t compactions = 0;
  };

  bool is_read_only = true;
  DecodeCache::Counts cache;
  std::uint64_t cache_held_bytes = 0;
  std::uint64_t pushed_bytes = 0;  // stored in the kernel's page cache
  AheadBudget::Counts ahead;
  Writes writes;
};

}  // namespace framefs::fs
