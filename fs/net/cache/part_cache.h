#pragma once

#include <vector>

#include "fs/net/cache/part_store.h"

namespace framefs::net {

// A cache of parts that is slower than memory and outlives the process: the disk cache, or a fake
// in a test.
// Threads: any number.
class PartCache {
 public:
  PartCache() = default;
  PartCache(const PartCache&) = delete;
  PartCache& operator=(const PartCache&) = delete;
  virtual ~PartCache() = default;

  // The stored parts that overlap `range`, in order and without overlaps among them.  A part may
  // begin before `range` and end after it.  The call reads files.
  virtual std::vector<Part> find(const ContentKey& key, ByteRange range) = 0;
  // Whether the cache holds all of `range`, as far as it knows without reading files.
  [[nodiscard]] virtual bool holds(const ContentKey& key, ByteRange range) const = 0;
  // Keeps a part if there is room; returns at once.
  virtual void store(const ContentKey& key, const Part& part) = 0;
};

}  // namespace framefs::net
