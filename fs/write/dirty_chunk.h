#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "fs/write/extents.h"
#include "fs/write/overlay_budget.h"

namespace framefs::fs {

// The bytes written to one chunk and not stored yet, above the older content of the chunk.  Where
// nothing was written, the first base_bytes() bytes are those of the layer below, and all bytes
// after them are zeros.  Its memory is one window of the chunk, around the written bytes.
// Threads: one may change it, or any number read it.
class DirtyChunk {
 public:
  // The memory that a chunk takes beside its bytes: the object, its place in the overlay, and what
  // the allocator adds.  It counts, because a chunk may have a single byte.
  static constexpr std::uint32_t kOverheadBytes = 256;

  DirtyChunk(OverlayBudget::Account& account, std::uint32_t base_bytes)
      : account_(account), base_bytes_(base_bytes), length_below_(base_bytes) {
    account_.count(kOverheadBytes);
  }
  DirtyChunk(const DirtyChunk&) = delete;
  DirtyChunk& operator=(const DirtyChunk&) = delete;
  ~DirtyChunk() {
    replace_bytes(nullptr, {});
    account_.uncount(kOverheadBytes);
  }

  // `most` is the size of a whole chunk.
  void write(std::uint32_t offset, std::span<const std::byte> bytes, std::uint32_t most);
  void write_zeros(std::uint32_t offset, std::uint32_t size, std::uint32_t most);
  // Truncates the chunk to `length`.
  void truncate(std::uint32_t length);
  // Adds the bytes of `older`, the layer directly below, wherever this layer was not written.
  void merge_older(const DirtyChunk& older, std::uint32_t most);
  // The memory that a write of [begin, end) will take, for a chunk or for null, a new chunk.
  [[nodiscard]] static std::uint32_t growth(const DirtyChunk* chunk, std::uint32_t begin,
                                            std::uint32_t end, std::uint32_t most) noexcept;

  [[nodiscard]] const Extents& written() const noexcept { return written_; }
  [[nodiscard]] std::uint32_t base_bytes() const noexcept { return base_bytes_; }
  // The length of the chunk in the layer below.
  [[nodiscard]] std::uint32_t length_below() const noexcept { return length_below_; }
  // Bytes that were written: all of [begin, end).
  [[nodiscard]] std::span<const std::byte> bytes(std::uint32_t begin,
                                                 std::uint32_t end) const noexcept {
    return {bytes_.get() + (begin - window_.begin), end - begin};
  }
  // The first `size` bytes of the chunk, if there is memory for all of them; otherwise nothing.
  // Bytes that were not written are undefined.
  [[nodiscard]] std::span<std::byte> whole(std::uint32_t size) noexcept {
    if (window_.begin > 0 || window_.end < size) return {};
    return {bytes_.get(), size};
  }

 private:
  using Window = Extents::Extent;
  [[nodiscard]] bool has_memory(std::uint32_t begin, std::uint32_t end) const noexcept {
    return bytes_ != nullptr && begin >= window_.begin && end <= window_.end;
  }
  [[nodiscard]] static Window window_for(Window has, std::uint32_t begin, std::uint32_t end,
                                         std::uint32_t most) noexcept;
  void reserve(std::uint32_t begin, std::uint32_t end, std::uint32_t most);
  void replace_bytes(std::unique_ptr<std::byte[]> bytes, Window window) noexcept;

  OverlayBudget::Account& account_;
  std::unique_ptr<std::byte[]> bytes_;
  Window window_;  // of the chunk; `bytes_` holds it
  Extents written_;
  std::uint32_t base_bytes_;
  std::uint32_t length_below_;
};

}  // namespace framefs::fs
