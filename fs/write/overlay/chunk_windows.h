#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "fs/write/overlay/extents.h"

namespace framefs::fs {

// The windows of a chunk for which a dirty chunk has memory: disjoint, in order, each one buffer.
// Pure arithmetic: DirtyChunk has the buffers.
//
// A write gets new windows where no window is, so small writes that lie far apart take little
// memory, and no bytes are copied.  When the windows take much of the chunk, or a writer fills the
// chunk from its beginning, one window of all of the chunk takes their place.
// Threads: one may change it, or any number read it.
class ChunkWindows {
 public:
  using Window = Extents::Extent;

  [[nodiscard]] std::span<const Window> all() const noexcept { return windows_; }
  [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_; }
  // Whether one window has all of [begin, end).
  [[nodiscard]] bool has(std::uint32_t begin, std::uint32_t end) const noexcept;
  // The place in all() of the first window that ends behind `offset`.
  [[nodiscard]] std::size_t at(std::uint32_t offset) const noexcept;

  // The windows that a write of [begin, end) needs.
  struct Growth {
    std::vector<Window> added;
    bool is_whole = false;  // the one added window is the chunk and replaces all others
    [[nodiscard]] std::uint64_t bytes() const noexcept;
  };
  // `most` is the size of a whole chunk.  begin < end <= most.
  [[nodiscard]] Growth growth(std::uint32_t begin, std::uint32_t end, std::uint32_t most) const;
  // Adds one window, which overlaps no other.  Returns its place in all().
  std::size_t add(Window window);
  void clear() noexcept;

 private:
  [[nodiscard]] std::uint32_t contiguous_from_zero() const noexcept;

  std::vector<Window> windows_;
  std::uint64_t bytes_ = 0;
};

}  // namespace framefs::fs
