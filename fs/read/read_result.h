#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "fs/read/buffer_pool.h"
#include "fs/read/content_id.h"
#include "fs/read/decode_cache.h"

namespace framefs::fs {

// Blocks whose last bytes a read returns.  From then on all their bytes are in the kernel's page
// cache, and the memory here is better used for blocks that are read in parts.  The destructor
// evicts the blocks from the cache.
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

// A decoded block of which readers read one small part after the other.  The kernel is better off
// with all of its bytes.
struct HotBlock {
  CacheKey key;              // of the block in the cache
  std::uint64_t offset = 0;  // of the block in the shown file
  std::shared_ptr<const Bytes> bytes;
  DecodeCache* cache = nullptr;  // outlives it

  // To be called when the kernel has all of the bytes.
  void evict() const { cache->drop(key); }
};

// The result of a read: the bytes where they lie, without another copy, and the owners that keep
// them in memory.
// Lifetime: the spans are valid as long as this object lives; destroy it once the reply is sent.
struct ReadResult {
  // The order matters for destruction: first the owners release the bytes, then the cache evicts
  // the blocks, and then the next reader is admitted.
  Admission admission;
  ServedBlocks served;
  std::vector<std::shared_ptr<const void>> owners;
  std::vector<std::span<const std::byte>> spans;
  std::optional<HotBlock> hot;
};

}  // namespace framefs::fs
