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
#include "fs/core/guarded.h"
#include "fs/read/content_id.h"

namespace framefs::fs {

using codec::Error;
using codec::Result;
using codec::Status;

// What a cached value is; each kind has one C++ type, see CachedFrame.
enum class CacheKind : std::uint8_t { block, chunk, index_window, chunk_offsets, container };

struct CacheKey {
  ContentId content;
  std::uint64_t chunk = 0;
  std::uint32_t block = 0;
  CacheKind kind = CacheKind::block;
  bool operator==(const CacheKey&) const = default;
};

// One cache for a whole mount: decoded blocks, and the tables needed to find them.
//
// Whatever it holds is made at most once at a time: who asks first makes it, the others wait for
// the result.  Failures are handed to those waiting and not kept.
//
// The budget counts what is held, values that are still being made included.  Values in use are
// never dropped; so that they alone cannot pass the budget, readers of blocks are admitted with an
// estimate of what they will touch, and wait while others use up the budget.
//
// Threads: any number.
class DecodeCache {
 public:
  using Value = std::shared_ptr<const void>;

  // What a value takes beside its own bytes: slot, list node, shared_ptr control block, the
  // allocator's share.
  static constexpr std::uint64_t kOverheadBytes = 256;

  explicit DecodeCache(std::uint64_t budget_bytes)
      : budget_(budget_bytes),
        small_reserve_(std::min(budget_bytes / kReserveShare, kMaxSmallReserve)) {}

  [[nodiscard]] static std::size_t hash_of(const CacheKey& key) noexcept { return KeyHash{}(key); }

  // A value that is being made.  wait() returns it.
  class Flight {
   public:
    [[nodiscard]] Result<Value> wait();

   private:
    friend class DecodeCache;
    void land(Result<Value> result);
    Guarded<std::optional<Result<Value>>> result_;
  };

  // The duty to make one value.  Dropped without publish() or fail(), it fails with ENOMEM.
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

  // What asking for a value came to: exactly one of the three is set.
  struct Claim {
    Value ready;
    std::shared_ptr<Flight> flight;  // somebody else makes it
    std::optional<Ticket> ours;      // the caller makes it
  };
  // `bytes`: what the value will take, 0 where that shows only when it is made.
  Claim claim(const CacheKey& key, std::uint64_t bytes);

  // The value of `key`, made by make() -> Result<std::shared_ptr<const T>> where it is missing.
  // T must have memory_bytes().
  template <class T, class Make>
  Result<std::shared_ptr<const T>> get(const CacheKey& key, const Make& make) {
    while (true) {
      auto found = claim(key, 0);
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
        // The request that was to make it has ended, and this one has not.
        if (!landed && is_of_another(landed.error())) continue;
        if (!landed) return std::unexpected(landed.error());
        found.ready = std::move(*landed);
      }
      return std::static_pointer_cast<const T>(found.ready);
    }
  }

  // Whether an error that Flight::wait() returned is that of another request, not of the value:
  // this one is to ask again.
  [[nodiscard]] static bool is_of_another(const Error& error);

  // Whether there is such a value, or somebody makes it.
  [[nodiscard]] bool knows(const CacheKey& key);

  // Lets go of a value that will not be asked for again, if it is there and ready.
  void drop(const CacheKey& key);

  // The right to use `bytes` of the budget at once, until it is destroyed.
  class Admission {
   public:
    Admission() = default;
    Admission(Admission&& other) noexcept
        : cache_(std::exchange(other.cache_, nullptr)),
          bytes_(other.bytes_),
          share_(other.share_) {}
    Admission& operator=(Admission&& other) noexcept;
    Admission(const Admission&) = delete;
    Admission& operator=(const Admission&) = delete;
    ~Admission();

   private:
    friend class DecodeCache;
    enum class Share : std::uint8_t { budget, reserve };
    Admission(DecodeCache& cache, std::uint64_t bytes, Share share)
        : cache_(&cache), bytes_(bytes), share_(share) {}
    DecodeCache* cache_ = nullptr;
    std::uint64_t bytes_ = 0;
    Share share_ = Share::budget;
  };
  // Waits for the right, in turn; one that passes the whole budget is given when nobody else has
  // any.  Small requests wait for no large one: they have a reserve beside the budget.  Gives
  // nothing where the thread's request is cancelled meanwhile: all that it decodes will fail.  What
  // is dropped before the Admission no longer counts; what is kept longer passes the budget.  A
  // thread that waits here must hold neither Ticket nor Admission.
  Admission admit(std::uint64_t bytes);
  // The same without waiting, for what nobody has asked for yet: only as long as what is admitted
  // leaves half of the budget to others.
  std::optional<Admission> try_admit(std::uint64_t bytes);

  // Large requests that wait for admission now.
  [[nodiscard]] std::size_t waiting_large() const;

  // What is held now.  Units: bytes.
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
    std::list<CacheKey> by_age;  // of the ready ones, latest use first
  };
  static constexpr std::size_t kShards = 16;
  // So many values in use, and no more, one attempt to evict passes over in a shard: while a
  // request holds very many, attempts must not cost more and more.
  static constexpr std::size_t kMaxLooks = 8;
  // Of the reserve for small requests, beside the budget; a small request takes no more than a
  // share.
  static constexpr std::uint64_t kMaxSmallReserve = 16u << 20;
  static constexpr std::uint64_t kReserveShare = 8;  // of the budget
  static constexpr std::uint64_t kSmallShare = 4;    // of the reserve

  struct Admitted {
    struct Waiting {};
    [[nodiscard]] bool has_room(std::uint64_t bytes, std::uint64_t budget) const noexcept;
    std::uint64_t sum = 0;
    std::uint64_t reserve_sum = 0;
    std::list<Waiting> queue;  // large requests, in the order in which they came
  };

  Admission admit_small(std::uint64_t bytes);
  Admission admit_large(std::uint64_t bytes);
  template <class Ready, class Take>
  Admission wait_admitted(const Ready& ready, const Take& take);
  Guarded<Shard>& shard_of(const CacheKey& key);
  void make_room();
  bool evict_one(Guarded<Shard>& shard);

  const std::uint64_t budget_;
  std::array<Guarded<Shard>, kShards> shards_;
  // A running sum; nobody infers anything else from its value.
  std::atomic<std::uint64_t> held_{0};
  std::atomic<std::size_t> next_victim_{0};  // the shard to evict from next
  const std::uint64_t small_reserve_;
  Guarded<Admitted> admitted_;
};

}  // namespace framefs::fs
