#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "fs/read/decode_cache.h"

namespace framefs::fs {

// Blocks of which a read hands out the rest.  From then on their bytes are in the kernel's page cache,
// and memory here is better spent on blocks that are read in parts: they leave the cache with this.
class ServedBlocks {
 public:
  ServedBlocks() = default;
  ServedBlocks(ServedBlocks&&) noexcept = default;
  ServedBlocks& operator=(ServedBlocks&&) = delete;
  ServedBlocks(const ServedBlocks&) = delete;
  ServedBlocks& operator=(const ServedBlocks&) = delete;
  ~ServedBlocks() {
    for (const auto& [cache, key] : blocks_) cache->drop(key);
  }

  void add(DecodeCache& cache, const CacheKey& key) { blocks_.emplace_back(&cache, key); }

 private:
  std::vector<std::pair<DecodeCache*, CacheKey>> blocks_;
};

// What a read came to: bytes where they lie, without another copy, and what keeps them there.
// Lifetime: the spans are good as long as this object is; destroy it once the reply is sent.
struct ReadResult {
  // In this order: the owners let go first, then the cache, and then the next reader is admitted.
  DecodeCache::Admission admission;
  ServedBlocks served;
  std::vector<std::shared_ptr<const void>> owners;
  std::vector<std::span<const std::byte>> spans;
};

}  // namespace framefs::fs
