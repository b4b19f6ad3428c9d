#include "fs/write/overlay/dirty_chunk.h"

#include <algorithm>
#include <utility>

namespace framefs::fs {

std::uint64_t DirtyChunk::growth(const DirtyChunk* chunk, std::span<const Extents::Extent> writes,
                                 std::uint32_t most) {
  const std::uint64_t overhead = chunk == nullptr ? kOverheadBytes : 0;
  if (chunk != nullptr && writes.size() == 1) {
    return chunk->windows_.growth(writes[0].begin, writes[0].end, most).bytes();
  }
  auto windows = chunk == nullptr ? ChunkWindows{} : chunk->windows_;
  const auto before = windows.bytes();
  auto peak = before;
  for (const auto& [begin, end] : writes) {
    const auto growth = windows.growth(begin, end, most);
    peak = std::max(peak, windows.bytes() + growth.bytes());
    if (growth.is_whole) windows.clear();
    for (const auto& window : growth.added) windows.add(window);
  }
  return peak - before + overhead;
}

void DirtyChunk::reserve(std::uint32_t begin, std::uint32_t end, std::uint32_t most) {
  const auto growth = windows_.growth(begin, end, most);
  for (const auto& window : growth.added) {
    auto bytes = account_.take(window.end - window.begin);
    if (growth.is_whole) {
      for (const auto& [from, to] : written_.all()) read(from, {bytes.get() + from, to - from});
      give_back_windows();
    }
    add_window(window, std::move(bytes));
  }
}

void DirtyChunk::add_window(ChunkWindows::Window window, std::unique_ptr<std::byte[]> bytes) {
  const auto place = static_cast<std::ptrdiff_t>(windows_.add(window));
  memory_.insert(memory_.begin() + place, std::move(bytes));
}

void DirtyChunk::give_back_windows() noexcept {
  for (std::size_t i = 0; i < memory_.size(); ++i) {
    const auto& window = windows_.all()[i];
    account_.give_back(std::move(memory_[i]), window.end - window.begin);
  }
  memory_.clear();
  windows_.clear();
}

void DirtyChunk::write(std::uint32_t offset, std::span<const std::byte> bytes, std::uint32_t most) {
  const auto end = offset + static_cast<std::uint32_t>(bytes.size());
  reserve(offset, end, most);
  for_each_part(offset, end, [&](std::uint32_t at, std::span<std::byte> memory) {
    std::ranges::copy(bytes.subspan(at - offset, memory.size()), memory.begin());
  });
  written_.add(offset, end);
}

void DirtyChunk::write_zeros(std::uint32_t offset, std::uint32_t size, std::uint32_t most) {
  reserve(offset, offset + size, most);
  for_each_part(offset, offset + size, [](std::uint32_t, std::span<std::byte> memory) {
    std::ranges::fill(memory, std::byte{0});
  });
  written_.add(offset, offset + size);
}

void DirtyChunk::read(std::uint32_t begin, std::span<std::byte> out) const noexcept {
  const auto end = begin + static_cast<std::uint32_t>(out.size());
  for_each_part(begin, end, [&](std::uint32_t at, std::span<const std::byte> memory) {
    std::ranges::copy(memory, out.subspan(at - begin).begin());
  });
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
      if (is_written) return;
      older.for_each_part(from, to, [&](std::uint32_t at, std::span<const std::byte> bytes) {
        write(at, bytes, most);
      });
    });
  }
  base_bytes_ = std::min(base_bytes_, older.base_bytes_);
  length_below_ = older.length_below_;
}

}  // namespace framefs::fs
