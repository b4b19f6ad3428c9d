#pragma once

#include <vector>

#include "fs/net/part_store.h"

namespace framefs::net {

// A store of parts that is slower than memory and outlives it: the disk cache, or a test's.
// Threads: any number.
class PartCache {
 public:
  PartCache() = default;
  PartCache(const PartCache&) = delete;
  PartCache& operator=(const PartCache&) = delete;
  virtual ~PartCache() = default;

  // What there is of `range`, in order and without overlaps; each may begin before it and end behind
  // it.  Reads files.
  virtual std::vector<Part> find(const ContentKey& key, ByteRange range) = 0;
  // Whether all of `range` is there, as far as is known without reading.
  virtual bool holds(const ContentKey& key, ByteRange range) const = 0;
  // Keeps a part if there is room; returns at once.
  virtual void store(const ContentKey& key, const Part& part) = 0;
};

}  // namespace framefs::net
