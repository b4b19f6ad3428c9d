#include "fs/write/dirty_chunk.h"

#include <algorithm>
#include <utility>

namespace framefs::fs {

// A small file, or a small write within a chunk, takes little memory.  A writer of more bytes is
// expected to fill the chunk.
DirtyChunk::Window DirtyChunk::window_for(Window has, std::uint32_t begin, std::uint32_t end,
                                          std::uint32_t most) noexcept {
  constexpr std::uint32_t kSmallBytes = 256u << 10;
  constexpr std::uint32_t kMinBytes = 4u << 10;
  const auto has_bytes = has.end - has.begin;
  if (has_bytes > 0) {
    begin = std::min(begin, has.begin);
    end = std::max(end, has.end);
  }
  if (end - begin > kSmallBytes || end - begin >= most) return {0, most};
  const auto wanted = std::min(std::max({kMinBytes, end - begin, has_bytes * 4}), most);
  // The next write is expected behind this one.
  begin = std::min(begin - begin % kMinBytes, most - wanted);
  return {begin, std::max(begin + wanted, end)};
}

std::uint32_t DirtyChunk::growth(const DirtyChunk* chunk, std::uint32_t begin, std::uint32_t end,
                                 std::uint32_t most) noexcept {
  if (chunk != nullptr && chunk->has_memory(begin, end)) return 0;
  const auto window = window_for(chunk != nullptr ? chunk->window_ : Window{}, begin, end, most);
  return window.end - window.begin + (chunk == nullptr ? kOverheadBytes : 0);
}

void DirtyChunk::reserve(std::uint32_t begin, std::uint32_t end, std::uint32_t most) {
  if (has_memory(begin, end)) return;
  const auto wanted = window_for(window_, begin, end, most);
  auto grown = account_.take(wanted.end - wanted.begin);
  for (const auto& [from, to] : written_.all()) {
    std::ranges::copy(bytes(from, to), grown.get() + (from - wanted.begin));
  }
  replace_bytes(std::move(grown), wanted);
}

void DirtyChunk::replace_bytes(std::unique_ptr<std::byte[]> bytes, Window window) noexcept {
  if (bytes_) account_.give_back(std::move(bytes_), window_.end - window_.begin);
  bytes_ = std::move(bytes);
  window_ = window;
}

void DirtyChunk::write(std::uint32_t offset, std::span<const std::byte> bytes, std::uint32_t most) {
  const auto end = offset + static_cast<std::uint32_t>(bytes.size());
  reserve(offset, end, most);
  std::ranges::copy(bytes, bytes_.get() + (offset - window_.begin));
  written_.add(offset, end);
}

void DirtyChunk::write_zeros(std::uint32_t offset, std::uint32_t size, std::uint32_t most) {
  reserve(offset, offset + size, most);
  std::fill_n(bytes_.get() + (offset - window_.begin), size, std::byte{0});
  written_.add(offset, offset + size);
}

void DirtyChunk::truncate(std::uint32_t length) {
  base_bytes_ = std::min(base_bytes_, length);
  written_.truncate(length);
}

void DirtyChunk::merge_older(const DirtyChunk& older, std::uint32_t most) {
  const auto ours = written_;
  for (const auto& [begin, end] : older.written_.all()) {
    // Bytes of the older layer beyond the base were never visible through this layer.
    if (begin >= base_bytes_) break;
    ours.for_each(begin, std::min(end, base_bytes_), [&](auto from, auto to, bool is_written) {
      if (!is_written) write(from, older.bytes(from, to), most);
    });
  }
  base_bytes_ = std::min(base_bytes_, older.base_bytes_);
  length_below_ = older.length_below_;
}

}  // namespace framefs::fs
