#include "fs/read/buffer_pool.h"

#include <algorithm>
#include <utility>

namespace framefs::fs {
namespace {

// The blocks of a frame have one size, so the pool holds few sizes at once.  take() searches the
// list from its end.
constexpr std::size_t kMaxBuffers = 256;

constexpr std::uint64_t kMostIdleBytes = 16u << 20;
constexpr std::uint64_t kIdleShare = 16;

}  // namespace

Bytes::Bytes(BufferPool& pool, std::size_t size)
    : pool_(pool), size_(size), data_(pool.take(size)) {}

Bytes::~Bytes() { pool_.give_back(std::move(data_), size_); }

std::uint64_t BufferPool::share_of(std::uint64_t cache_bytes) noexcept {
  return std::min(kMostIdleBytes, cache_bytes / kIdleShare);
}

BufferPool::BufferPool(std::uint64_t max_bytes) : idle_(max_bytes, kMaxBuffers) {}

std::unique_ptr<std::byte[]> BufferPool::take(std::size_t size) {
  auto buffer = idle_.take(size, size);
  if (buffer == nullptr) buffer = std::make_unique_for_overwrite<std::byte[]>(size);
  return buffer;
}

void BufferPool::give_back(std::unique_ptr<std::byte[]> buffer, std::size_t size) noexcept {
  idle_.put(std::move(buffer), size);
}

}  // namespace framefs::fs
