#include "fs/read/buffer_pool.h"

#include <algorithm>

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

BufferPool::BufferPool(std::uint64_t max_bytes) : most_bytes_(max_bytes) {
  // Reserved now, because give_back() must not fail.
  idle_.with([](Idle& idle) { idle.buffers.reserve(kMaxBuffers); });
}

std::unique_ptr<std::byte[]> BufferPool::take(std::size_t size) {
  auto buffer = idle_.with([&](Idle& idle) -> std::unique_ptr<std::byte[]> {
    const auto match = std::ranges::find(idle.buffers.rbegin(), idle.buffers.rend(), size,
                                         [](const auto& entry) { return entry.first; });
    if (match == idle.buffers.rend()) return nullptr;
    auto found = std::move(match->second);
    idle.buffers.erase(std::next(match).base());
    idle.bytes -= size;
    return found;
  });
  if (buffer == nullptr) buffer = std::make_unique_for_overwrite<std::byte[]>(size);
  return buffer;
}

void BufferPool::give_back(std::unique_ptr<std::byte[]> buffer, std::size_t size) noexcept {
  if (size > most_bytes_) return;
  std::unique_ptr<std::byte[]> dropped;  // frees the last one after the lock
  idle_.with([&](Idle& idle) {
    // The oldest buffers go first: their size is most likely not needed any more.
    while (!idle.buffers.empty() &&
           (size > most_bytes_ - idle.bytes || idle.buffers.size() == kMaxBuffers)) {
      idle.bytes -= idle.buffers.front().first;
      dropped = std::move(idle.buffers.front().second);
      idle.buffers.erase(idle.buffers.begin());
    }
    idle.bytes += size;
    idle.buffers.emplace_back(size, std::move(buffer));
  });
}

}  // namespace framefs::fs
