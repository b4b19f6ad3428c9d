#include "fs/read/decode_cache.h"

#include <cerrno>

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
  // Not the low bits: those choose the bucket inside the shard's map.
  return shards_[(KeyHash{}(key) >> 48) % kShards];
}

Result<DecodeCache::Value> DecodeCache::Flight::wait() {
  return result_.wait([](const auto& result) { return result.has_value(); },
                      [](const auto& result) { return *result; });
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
  // All that may throw comes first, while the destructor can still tell those who wait.
  std::list<CacheKey> age(1, key_);
  auto& cache = *std::exchange(cache_, nullptr);
  const std::uint64_t held = bytes + kOverheadBytes;
  cache.held_.fetch_add(held - bytes_, std::memory_order_relaxed);
  cache.shard_of(key_).with([&](Shard& shard) {
    auto& slot = shard.slots.at(key_);
    shard.by_age.splice(shard.by_age.begin(), age);
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

// After the map knows: who comes between finds the value ready, or makes it anew.
void DecodeCache::Flight::land(Result<Value> result) {
  result_.with_and_wake([&](auto& landed) { landed = std::move(result); });
}

DecodeCache::Claim DecodeCache::claim(const CacheKey& key, std::uint64_t bytes) {
  const std::uint64_t reserved = bytes == 0 ? 0 : bytes + kOverheadBytes;
  auto claim = shard_of(key).with([&](Shard& shard) -> Claim {
    const auto at = shard.slots.find(key);
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

bool DecodeCache::knows(const CacheKey& key) {
  return shard_of(key).with([&](Shard& shard) { return shard.slots.contains(key); });
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
  // Each shard in turn gives its oldest value; a full round without one means all are in use.  The
  // round is this call's own: shared with others, it might never come to some of the shards.
  auto victim = next_victim_.fetch_add(1, std::memory_order_relaxed);
  std::size_t barren = 0;
  while (held_.load(std::memory_order_relaxed) > budget_ && barren < kShards) {
    barren = evict_one(shards_[victim++ % kShards]) ? 0 : barren + 1;
  }
}

bool DecodeCache::evict_one(Guarded<Shard>& guarded) {
  // Freed after the lock: giving back a large block takes the allocator a while.
  Value dropped;
  return guarded.with([&](Shard& shard) {
    for (auto at = shard.by_age.end(); at != shard.by_age.begin();) {
      --at;
      const auto slot = shard.slots.find(*at);
      // Only the cache holds it, and nobody can come by it without this lock.
      if (slot->second.value.use_count() > 1) continue;
      dropped = std::move(slot->second.value);
      held_.fetch_sub(slot->second.bytes, std::memory_order_relaxed);
      shard.slots.erase(slot);
      shard.by_age.erase(at);
      return true;
    }
    return false;
  });
}

DecodeCache::Admission DecodeCache::admit(std::uint64_t bytes) {
  return admitted_.wait(
      [&](std::uint64_t sum) { return sum == 0 || (sum <= budget_ && bytes <= budget_ - sum); },
      [&](std::uint64_t& sum) {
        sum += bytes;
        return Admission(*this, bytes);
      });
}

std::optional<DecodeCache::Admission> DecodeCache::try_admit(std::uint64_t bytes) {
  const auto most = budget_ / 2;
  return admitted_.with([&](std::uint64_t& sum) -> std::optional<Admission> {
    if (sum > most || bytes > most - sum) return std::nullopt;
    sum += bytes;
    return Admission(*this, bytes);
  });
}

DecodeCache::Admission& DecodeCache::Admission::operator=(Admission&& other) noexcept {
  std::swap(cache_, other.cache_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

DecodeCache::Admission::~Admission() {
  if (cache_ == nullptr || bytes_ == 0) return;
  cache_->admitted_.with_and_wake([&](std::uint64_t& sum) { sum -= bytes_; });
}

}  // namespace framefs::fs
