#include "fs/write/dirty_chunk.h"

#include <algorithm>
#include <utility>

namespace framefs::fs {

void DirtyChunk::reserve(std::uint32_t size, std::uint32_t most) {
  if (size <= capacity_) return;
  // A small file takes little memory.  A writer of more bytes is expected to fill the chunk.
  constexpr std::uint32_t kSmallBytes = 256u << 10;
  constexpr std::uint32_t kMinBytes = 4u << 10;
  std::uint32_t wanted = most;
  if (size <= kSmallBytes && size < most) {
    wanted = std::min(std::max({kMinBytes, size, capacity_ * 4}), most);
  }
  auto grown = budget_.take(wanted);
  for (const auto& [begin, end] : written_.all()) {
    std::copy(bytes_.get() + begin, bytes_.get() + end, grown.get() + begin);
  }
  replace_bytes(std::move(grown), wanted);
}

void DirtyChunk::replace_bytes(std::unique_ptr<std::byte[]> bytes,
                               std::uint32_t capacity) noexcept {
  if (bytes_) budget_.give_back(std::move(bytes_), capacity_);
  bytes_ = std::move(bytes);
  capacity_ = capacity;
}

void DirtyChunk::write(std::uint32_t offset, std::span<const std::byte> bytes, std::uint32_t most) {
  const auto end = offset + static_cast<std::uint32_t>(bytes.size());
  reserve(end, most);
  std::ranges::copy(bytes, bytes_.get() + offset);
  written_.add(offset, end);
}

void DirtyChunk::write_zeros(std::uint32_t offset, std::uint32_t size, std::uint32_t most) {
  reserve(offset + size, most);
  std::fill_n(bytes_.get() + offset, size, std::byte{0});
  written_.add(offset, offset + size);
}

void DirtyChunk::cut(std::uint32_t length) {
  base_bytes_ = std::min(base_bytes_, length);
  written_.cut(length);
}

void DirtyChunk::merge_older(const DirtyChunk& older, std::uint32_t most) {
  const auto ours = written_;
  for (const auto& [begin, end] : older.written_.all()) {
    // Bytes of the older layer beyond the base were never visible through this layer.
    if (begin >= base_bytes_) break;
    ours.for_each(begin, std::min(end, base_bytes_), [&](auto from, auto to, bool is_written) {
      if (!is_written) write(from, older.bytes().subspan(from, to - from), most);
    });
  }
  base_bytes_ = std::min(base_bytes_, older.base_bytes_);
}

}  // namespace framefs::fs
