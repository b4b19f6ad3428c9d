#include "fs/read/decode_cache.h"

#include <algorithm>
#include <cerrno>

#include "codec/core/work_budget.h"

namespace framefs::fs {
namespace {

std::uint64_t mix(std::uint64_t x) noexcept {
  // The finaliser of MurmurHash3: every input bit reaches every output bit.
  x ^= x >> 33;
  x *= 0xff51afd7ed558ccdULL;
  x ^= x >> 33;
  x *= 0xc4ceb9fe1a85ec53ULL;
  x ^= x >> 33;
  return x;
}

}  // namespace

std::size_t DecodeCache::KeyHash::operator()(const CacheKey& key) const noexcept {
  const auto block = (std::uint64_t{key.block} << 8) | static_cast<std::uint8_t>(key.kind);
  return mix(mix(mix(key.content.value) + key.chunk) + block);
}

Guarded<DecodeCache::Shard>& DecodeCache::shard_of(const CacheKey& key) {
  // The shard does not depend on the low bits: these choose the bucket inside the shard's map.
  return shards_[(KeyHash{}(key) >> 48) % kShards];
}

Result<DecodeCache::Value> DecodeCache::Flight::wait() {
  const auto has_landed = [](const auto& result) { return result.has_value(); };
  auto* const budget = codec::current_work_budget();
  if (budget == nullptr) {
    return result_.wait(has_landed, [](const auto& result) { return *result; });
  }
  return result_.wait_unless([&] { return budget->is_cancelled(); }, has_landed,
                             [](const auto& result) -> Result<Value> {
                               if (!result) return codec::interrupted();
                               return *result;
                             });
}

bool DecodeCache::is_of_another(const Error& error) {
  if (!codec::is_work_error(error)) return false;
  auto* const budget = codec::current_work_budget();
  return budget == nullptr || !budget->is_cancelled();
}

DecodeCache::Ticket::Ticket(Ticket&& other) noexcept
    : cache_(std::exchange(other.cache_, nullptr)),
      key_(other.key_),
      flight_(std::move(other.flight_)),
      bytes_(other.bytes_) {}

DecodeCache::Ticket::~Ticket() {
  if (cache_ != nullptr) {
    fail(Error{.kind = codec::Errc::system, .field = "decoding", .sys = ENOMEM});
  }
}

void DecodeCache::Ticket::publish(Value value, std::uint64_t bytes) {
  // Everything that may throw comes first, while the destructor can still report the failure to the
  // waiting threads.
  std::list<CacheKey> age(1, key_);
  auto& cache = *std::exchange(cache_, nullptr);
  const std::uint64_t held = bytes + kOverheadBytes;
  cache.held_.fetch_add(held - bytes_, std::memory_order_relaxed);
  cache.shard_of(key_).with([&](Shard& shard) {
    auto& slot = shard.slots.at(key_);
    shard.by_age.splice(shard.by_age.begin(), age);
    shard.counts.made_bytes += bytes;
    slot = {.value = value, .flight = nullptr, .bytes = held, .age = shard.by_age.begin()};
  });
  flight_->land(std::move(value));
  cache.make_room();
}

void DecodeCache::Ticket::fail(const Error& error) {
  auto& cache = *std::exchange(cache_, nullptr);
  cache.held_.fetch_sub(bytes_, std::memory_order_relaxed);
  cache.shard_of(key_).with([&](Shard& shard) { shard.slots.erase(key_); });
  flight_->land(std::unexpected(error));
}

// The map is updated before this call.  A thread that asks in between finds the value ready, or
// makes it again after a failure.
void DecodeCache::Flight::land(Result<Value> result) {
  result_.with_and_wake([&](auto& landed) { landed = std::move(result); });
}

DecodeCache::Claim DecodeCache::claim(const CacheKey& key, std::uint64_t bytes) {
  const std::uint64_t reserved = bytes == 0 ? 0 : bytes + kOverheadBytes;
  auto claim = shard_of(key).with([&](Shard& shard) -> Claim {
    const auto at = shard.slots.find(key);
    ++(at == shard.slots.end() ? shard.counts.misses : shard.counts.hits);
    if (at == shard.slots.end()) {
      auto flight = std::make_shared<Flight>();
      shard.slots.emplace(key, Slot{.value = nullptr, .flight = flight, .bytes = 0, .age = {}});
      return {.ready = nullptr,
              .flight = nullptr,
              .ours = Ticket(*this, key, std::move(flight), reserved)};
    }
    Slot& slot = at->second;
    if (slot.flight) return {.ready = nullptr, .flight = slot.flight, .ours = std::nullopt};
    shard.by_age.splice(shard.by_age.begin(), shard.by_age, slot.age);
    return {.ready = slot.value, .flight = nullptr, .ours = std::nullopt};
  });
  if (claim.ours && reserved != 0) {
    held_.fetch_add(reserved, std::memory_order_relaxed);
    make_room();
  }
  return claim;
}

DecodeCache::Counts DecodeCache::counts() {
  Counts sum;
  for (auto& guarded : shards_) {
    const auto part = guarded.with([](Shard& shard) { return shard.counts; });
    sum.hits += part.hits;
    sum.misses += part.misses;
    sum.made_bytes += part.made_bytes;
  }
  return sum;
}

auto DecodeCache::find(const CacheKey& key) -> Value {
  return shard_of(key).with([&](Shard& shard) -> Value {
    const auto at = shard.slots.find(key);
    return at == shard.slots.end() ? nullptr : at->second.value;
  });
}

bool DecodeCache::knows(const CacheKey& key) {
  return shard_of(key).with([&](Shard& shard) { return shard.slots.contains(key); });
}

void DecodeCache::wait_for(const CacheKey& key) {
  const auto flight = shard_of(key).with([&](Shard& shard) -> std::shared_ptr<Flight> {
    const auto at = shard.slots.find(key);
    return at == shard.slots.end() ? nullptr : at->second.flight;
  });
  // The caller asks for the value afterwards, and gets the error or makes the value again.
  if (flight) static_cast<void>(flight->wait());
}

void DecodeCache::drop(const CacheKey& key) {
  Value dropped;  // freed after the lock
  shard_of(key).with([&](Shard& shard) {
    const auto at = shard.slots.find(key);
    if (at == shard.slots.end() || at->second.flight) return;
    dropped = std::move(at->second.value);
    held_.fetch_sub(at->second.bytes, std::memory_order_relaxed);
    shard.by_age.erase(at->second.age);
    shard.slots.erase(at);
  });
}

void DecodeCache::make_room() {
  if (held_.load(std::memory_order_relaxed) <= budget_) return;
  // Takes the oldest value of each shard in turn.  A full round without a value means that all are
  // in use.  Each call counts its own round: a round shared by several calls might skip a shard
  // forever.
  auto victim = next_victim_.fetch_add(1, std::memory_order_relaxed);
  std::size_t barren = 0;
  while (held_.load(std::memory_order_relaxed) > budget_ && barren < kShards) {
    barren = evict_one(shards_[victim++ % kShards]) ? 0 : barren + 1;
  }
}

bool DecodeCache::evict_one(Guarded<Shard>& guarded) {
  // Freed after the lock: freeing a large block takes the allocator a while.
  Value dropped;
  return guarded.with([&](Shard& shard) {
    auto& ages = shard.by_age;
    for (std::size_t looks = 0; looks < kMaxLooks && !ages.empty(); ++looks) {
      const auto oldest = std::prev(ages.end());
      const auto slot = shard.slots.find(*oldest);
      // Only the cache holds the value, and no thread can get it without this lock.
      if (slot->second.value.use_count() == 1) {
        dropped = std::move(slot->second.value);
        held_.fetch_sub(slot->second.bytes, std::memory_order_relaxed);
        shard.slots.erase(slot);
        ages.erase(oldest);
        return true;
      }
      // A value in use counts as recently used, so that the next call does not look at it again.
      ages.splice(ages.begin(), ages, oldest);
    }
    return false;
  });
}

}  // namespace framefs::fs
