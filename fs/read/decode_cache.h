#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <unordered_map>
#include <utility>

#include "codec/core/result.h"
#include "codec/core/work_budget.h"
#include "fs/core/threads/guarded.h"
#include "fs/read/cache_admissions.h"
#include "fs/read/content_id.h"

namespace framefs::fs {

using codec::Error;
using codec::Result;
using codec::Status;

// The kind of a cached value.  Each kind has one C++ type, see CachedFrame.
enum class CacheKind : std::uint8_t {
  block,
  chunk_group,
  chunk,         // by its index
  stored_chunk,  // by its entry in the index
  index_window,
  chunk_offsets,
  fetched_blocks,
  container,
  band_part
};

struct CacheKey {
  ContentId content;
  std::uint64_t chunk = 0;
  std::uint32_t block = 0;
  CacheKind kind = CacheKind::block;
  bool operator==(const CacheKey&) const = default;
};

// The one cache of a mount: decoded blocks, and the tables needed to find them.
//
// Each value is made by at most one thread at a time.  The first thread that asks for a value makes
// it; the others wait for the result.  A failure is reported to the waiting threads and not kept.
//
// The budget counts all values, also those that are still being made.  The cache never evicts
// values in use.  So that these alone cannot exceed the budget, readers of blocks need an
// Admission.
//
// Threads: any number.
class DecodeCache {
 public:
  using Value = std::shared_ptr<const void>;

  // The memory of a value beside its own bytes: slot, list node, shared_ptr control block, the
  // allocator's share.
  static constexpr std::uint64_t kOverheadBytes = 256;

  explicit DecodeCache(std::uint64_t budget_bytes)
      : budget_(budget_bytes), admissions_(budget_bytes) {}

  [[nodiscard]] static std::size_t hash_of(const CacheKey& key) noexcept { return KeyHash{}(key); }

  // A value that is being made.  wait() waits for it and returns it.
  class Flight {
   public:
    [[nodiscard]] Result<Value> wait();

   private:
    friend class DecodeCache;
    void land(Result<Value> result);
    Guarded<std::optional<Result<Value>>> result_;
  };

  // The duty to make one value.  A Ticket destroyed without publish() or fail() fails with ENOMEM.
  class Ticket {
   public:
    Ticket(Ticket&& other) noexcept;
    Ticket& operator=(Ticket&&) = delete;
    Ticket(const Ticket&) = delete;
    Ticket& operator=(const Ticket&) = delete;
    ~Ticket();

    void publish(Value value, std::uint64_t bytes);
    void fail(const Error& error);

   private:
    friend class DecodeCache;
    Ticket(DecodeCache& cache, const CacheKey& key, std::shared_ptr<Flight> flight,
           std::uint64_t bytes)
        : cache_(&cache), key_(key), flight_(std::move(flight)), bytes_(bytes) {}

    DecodeCache* cache_;
    CacheKey key_;
    std::shared_ptr<Flight> flight_;
    std::uint64_t bytes_;
  };

  // The result of claim(): exactly one of the three is set.
  struct Claim {
    Value ready;
    std::shared_ptr<Flight> flight;  // another thread makes it
    std::optional<Ticket> ours;      // the caller makes it
  };
  // `bytes` is the memory that the value will take, or 0 if that is not known before it is made.
  Claim claim(const CacheKey& key, std::uint64_t bytes);

  // Returns the value of `key`.  Calls make() -> Result<std::shared_ptr<const T>> if it is missing.
  // T must have memory_bytes().  `bytes` is as for claim().
  template <class T, class Make>
  Result<std::shared_ptr<const T>> get(const CacheKey& key, const Make& make,
                                       std::uint64_t bytes = 0) {
    while (true) {
      auto found = claim(key, bytes);
      if (found.ours) {
        Result<std::shared_ptr<const T>> made = make();
        if (made) {
          found.ours->publish(*made, (*made)->memory_bytes());
        } else {
          found.ours->fail(made.error());
        }
        return made;
      }
      if (found.flight) {
        auto landed = found.flight->wait();
        // The error concerns only the request that was to make the value, so this one asks again.
        if (!landed && is_of_another(landed.error())) continue;
        if (!landed) return std::unexpected(landed.error());
        found.ready = std::move(*landed);
      }
      return std::static_pointer_cast<const T>(found.ready);
    }
  }

  // Whether an error returned by Flight::wait() concerns only another request, and not the value.
  // The caller then has to ask again.
  [[nodiscard]] static bool is_of_another(const Error& error);

  // The value, if it is in the cache and ready.  It is not counted and does not become younger.
  [[nodiscard]] Value find(const CacheKey& key);

  // Whether the value is in the cache or being made.
  [[nodiscard]] bool knows(const CacheKey& key);

  // Whether a value of `bytes` would fit now, with all other values.
  [[nodiscard]] bool has_room(std::uint64_t bytes) const noexcept {
    return held_bytes() + bytes + kOverheadBytes <= budget_;
  }

  // Waits for the value if it is being made, and for nothing else.  A reader that is about to ask
  // for a large admission calls this first, so that it does not wait at the head of the queue.
  void wait_for(const CacheKey& key);

  // Evicts a value that no reader will need again, if it is in the cache and ready.
  void drop(const CacheKey& key);

  // The rights to use the budget, for readers of blocks.
  [[nodiscard]] Admissions& admissions() noexcept { return admissions_; }

  // Counts since the mount was made.
  struct Counts {
    std::uint64_t hits = 0;
    std::uint64_t misses = 0;
    std::uint64_t made_bytes = 0;  // decoded and put into the cache
  };
  [[nodiscard]] Counts counts();

  // The memory of all values now.  Units: bytes.
  [[nodiscard]] std::uint64_t held_bytes() const noexcept {
    return held_.load(std::memory_order_relaxed);
  }

 private:
  struct KeyHash {
    std::size_t operator()(const CacheKey& key) const noexcept;
  };
  struct Slot {
    Value value;                     // null while in flight
    std::shared_ptr<Flight> flight;  // null when ready
    std::uint64_t bytes = 0;
    std::list<CacheKey>::iterator age;  // meaningful when ready
  };
  struct Shard {
    std::unordered_map<CacheKey, Slot, KeyHash> slots;
    std::list<CacheKey> by_age;  // of the ready values, latest use first
    Counts counts;
  };
  static constexpr std::size_t kShards = 16;
  // An attempt to evict passes over at most this number of values in use in a shard.  Hence
  // attempts do not become slower while a request holds many values.
  static constexpr std::size_t kMaxLooks = 8;

  Guarded<Shard>& shard_of(const CacheKey& key);
  void make_room();
  bool evict_one(Guarded<Shard>& shard);

  const std::uint64_t budget_;
  std::array<Guarded<Shard>, kShards> shards_;
  // A running sum; no other data depends on its value.
  std::atomic<std::uint64_t> held_{0};
  std::atomic<std::size_t> next_victim_{0};  // the shard to evict from next
  Admissions admissions_;
};

}  // namespace framefs::fs
