#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "fs/core/resources/idle_memory.h"

namespace framefs::fs {

class BufferPool;

// Bytes with shared ownership.  Their memory goes back to the pool it came from.
class Bytes {
 public:
  Bytes(BufferPool& pool, std::size_t size);
  Bytes(const Bytes&) = delete;
  Bytes& operator=(const Bytes&) = delete;
  ~Bytes();

  [[nodiscard]] std::span<std::byte> writable() noexcept { return {data_.get(), size_}; }
  [[nodiscard]] std::span<const std::byte> view() const noexcept { return {data_.get(), size_}; }

 private:
  BufferPool& pool_;
  const std::size_t size_;
  std::unique_ptr<std::byte[]> data_;
};

// Keeps a little memory of decoded blocks for the next blocks.  A sequential reader then works in
// the same few buffers, which stay in the CPU's caches.
// Threads: any number.  Lifetime: outlives every Bytes made with it.
class BufferPool {
 public:
  // The bytes that the pool of a mount may keep beside a cache of `cache_bytes`: enough for the
  // blocks that are decoded at a time, little compared with the cache.
  static std::uint64_t share_of(std::uint64_t cache_bytes) noexcept;

  // The pool keeps at most `max_bytes`.
  explicit BufferPool(std::uint64_t max_bytes);

  // Returns `size` bytes of undefined content.
  std::unique_ptr<std::byte[]> take(std::size_t size);
  void give_back(std::unique_ptr<std::byte[]> buffer, std::size_t size) noexcept;

 private:
  IdleMemory<std::unique_ptr<std::byte[]>> idle_;
};

}  // namespace framefs::fs
