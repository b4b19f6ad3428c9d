#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "fs/write/overlay/chunk_windows.h"
#include "fs/write/overlay/extents.h"
#include "fs/write/overlay/overlay_budget.h"

namespace framefs::fs {

// The bytes written to one chunk and not stored yet, above the older content of the chunk.  Where
// nothing was written, the first base_bytes() bytes are those of the layer below, and all bytes
// after them are zeros.  Its memory is that of its windows, which lie around the written bytes.
// Threads: one may change it, or any number read it.
class DirtyChunk {
 public:
  // The memory that a chunk takes beside its bytes: the object, its place in the overlay, and what
  // the allocator adds.  It counts, because a chunk may have a single byte.  A window takes less
  // than a hundredth of its bytes beside them, and that does not count.
  static constexpr std::uint32_t kOverheadBytes = 256;

  DirtyChunk(OverlayBudget::Account& account, std::uint32_t base_bytes)
      : account_(account), base_bytes_(base_bytes), length_below_(base_bytes) {
    account_.count(kOverheadBytes);
  }
  DirtyChunk(const DirtyChunk&) = delete;
  DirtyChunk& operator=(const DirtyChunk&) = delete;
  ~DirtyChunk() {
    give_back_windows();
    account_.uncount(kOverheadBytes);
  }

  // `most` is the size of a whole chunk.
  void write(std::uint32_t offset, std::span<const std::byte> bytes, std::uint32_t most);
  void write_zeros(std::uint32_t offset, std::uint32_t size, std::uint32_t most);
  // Truncates the chunk to `length`.
  void truncate(std::uint32_t length);
  // Adds the bytes of `older`, the layer directly below, wherever this layer was not written.
  void merge_older(const DirtyChunk& older, std::uint32_t most);
  // The most memory that these writes, one after the other, will take at a time beside the present
  // memory, for a chunk or for null, a new chunk.
  [[nodiscard]] static std::uint64_t growth(const DirtyChunk* chunk,
                                            std::span<const Extents::Extent> writes,
                                            std::uint32_t most);

  [[nodiscard]] const Extents& written() const noexcept { return written_; }
  [[nodiscard]] std::uint32_t base_bytes() const noexcept { return base_bytes_; }
  // The length of the chunk in the layer below.
  [[nodiscard]] std::uint32_t length_below() const noexcept { return length_below_; }
  // Copies the bytes from `begin` on, all of which were written, to `out`.
  void read(std::uint32_t begin, std::span<std::byte> out) const noexcept;
  // The first `size` bytes of the chunk, if one window has all of them; otherwise nothing.  Bytes
  // that were not written are undefined.
  [[nodiscard]] std::span<std::byte> whole(std::uint32_t size) noexcept {
    if (!windows_.has(0, size)) return {};
    return {memory_.front().get(), size};
  }

 private:
  void reserve(std::uint32_t begin, std::uint32_t end, std::uint32_t most);
  void add_window(ChunkWindows::Window window, std::unique_ptr<std::byte[]> bytes);
  void give_back_windows() noexcept;
  // Calls body(offset, memory) for the parts of [begin, end) that lie in one window each.
  template <class Body>
  void for_each_part(std::uint32_t begin, std::uint32_t end, const Body& body) const {
    for (auto place = windows_.at(begin); begin < end; ++place) {
      const auto& window = windows_.all()[place];
      const auto to = std::min(end, window.end);
      body(begin, std::span(memory_[place].get() + (begin - window.begin), to - begin));
      begin = to;
    }
  }

  OverlayBudget::Account& account_;
  ChunkWindows windows_;
  std::vector<std::unique_ptr<std::byte[]>> memory_;  // of each window
  Extents written_;
  std::uint32_t base_bytes_;
  std::uint32_t length_below_;
};

}  // namespace framefs::fs
