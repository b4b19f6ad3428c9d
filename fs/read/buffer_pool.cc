#include "fs/read/buffer_pool.h"

#include <algorithm>

namespace framefs::fs {
namespace {

// A frame's blocks are of one size, so few sizes are met at once; the list is searched from its
// end.
constexpr std::size_t kMaxBuffers = 256;

}  // namespace

Bytes::Bytes(BufferPool& pool, std::size_t size)
    : pool_(pool), size_(size), data_(pool.take(size)) {}

Bytes::~Bytes() { pool_.give_back(std::move(data_), size_); }

BufferPool::BufferPool(std::uint64_t max_bytes) : most_bytes_(max_bytes) {
  // give_back() must not fail.
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
  std::unique_ptr<std::byte[]> dropped;  // so that the last one is freed after the lock
  idle_.with([&](Idle& idle) {
    // The oldest go first: of a size that nobody asks for any more, most likely.
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
