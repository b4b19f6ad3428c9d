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
// after them are zeros.
// Threads: one may change it, or any number read it.
class DirtyChunk {
 public:
  DirtyChunk(OverlayBudget& budget, std::uint32_t base_bytes)
      : budget_(budget), base_bytes_(base_bytes) {}
  DirtyChunk(const DirtyChunk&) = delete;
  DirtyChunk& operator=(const DirtyChunk&) = delete;
  ~DirtyChunk() { replace_bytes(nullptr, 0); }

  // `most` is the size of a whole chunk.
  void write(std::uint32_t offset, std::span<const std::byte> bytes, std::uint32_t most);
  void write_zeros(std::uint32_t offset, std::uint32_t size, std::uint32_t most);
  // Truncates the chunk to `length`.
  void cut(std::uint32_t length);
  // Adds the bytes of `older`, the layer directly below, wherever this layer was not written.
  void merge_older(const DirtyChunk& older, std::uint32_t most);

  [[nodiscard]] const Extents& written() const noexcept { return written_; }
  [[nodiscard]] std::uint32_t base_bytes() const noexcept { return base_bytes_; }
  // As many bytes as were reserved.  Bytes that were not written are undefined.
  [[nodiscard]] std::span<const std::byte> bytes() const noexcept {
    return {bytes_.get(), capacity_};
  }
  [[nodiscard]] std::span<std::byte> bytes() noexcept { return {bytes_.get(), capacity_}; }
  // Makes room for `size` bytes, and for more if more writes are to be expected.
  void reserve(std::uint32_t size, std::uint32_t most);

 private:
  void replace_bytes(std::unique_ptr<std::byte[]> bytes, std::uint32_t capacity) noexcept;

  OverlayBudget& budget_;
  std::unique_ptr<std::byte[]> bytes_;
  std::uint32_t capacity_ = 0;
  Extents written_;
  std::uint32_t base_bytes_;
};

}  // namespace framefs::fs
