#include "fs/write/overlay/chunk_windows.h"

#include <algorithm>

namespace framefs::fs {
namespace {

// Windows begin and end at multiples of this size, or at the end of the chunk.
constexpr std::uint32_t kMinBytes = 4u << 10;
// A writer of more bytes from the beginning of a chunk is expected to fill the chunk.
constexpr std::uint32_t kSmallBytes = 256u << 10;
// A write that follows a window gets a window of this many times its size: the next write is
// expected behind this one.
constexpr std::uint64_t kExpected = 4;
// Windows that take more than 1/kMaxShare of the chunk are replaced by one of all of it.
constexpr std::uint64_t kMaxShare = 2;

}  // namespace

std::uint64_t ChunkWindows::Growth::bytes() const noexcept {
  std::uint64_t sum = 0;
  for (const auto& window : added) sum += window.end - window.begin;
  return sum;
}

std::size_t ChunkWindows::at(std::uint32_t offset) const noexcept {
  const auto found = std::ranges::upper_bound(windows_, offset, {}, &Window::end);
  return static_cast<std::size_t>(found - windows_.begin());
}

bool ChunkWindows::has(std::uint32_t begin, std::uint32_t end) const noexcept {
  const auto place = at(begin);
  return place < windows_.size() && windows_[place].begin <= begin && windows_[place].end >= end;
}

// The end of the windows that follow each other from the beginning of the chunk.
std::uint32_t ChunkWindows::contiguous_from_zero() const noexcept {
  std::uint32_t end = 0;
  for (const auto& window : windows_) {
    if (window.begin != end) break;
    end = window.end;
  }
  return end;
}

auto ChunkWindows::growth(std::uint32_t begin, std::uint32_t end, std::uint32_t most) const
    -> Growth {
  Growth growth;
  if (has(begin, end)) return growth;
  begin -= begin % kMinBytes;
  end =
      end > most - std::min(most, kMinBytes) ? most : (end + kMinBytes - 1) / kMinBytes * kMinBytes;
  auto place = at(begin);
  auto from = begin;
  while (from < end) {
    const bool is_last = place == windows_.size();
    const auto next = is_last ? most : windows_[place].begin;
    if (from < next) {
      const bool follows = place > 0 && windows_[place - 1].end == from;
      const std::uint64_t before =
          follows ? windows_[place - 1].end - windows_[place - 1].begin : 0;
      const auto wanted = std::max<std::uint64_t>(std::min(end, next) - from, kExpected * before);
      const auto to = static_cast<std::uint32_t>(std::min<std::uint64_t>(next, from + wanted));
      growth.added.push_back({from, to});
      from = to;
    }
    if (is_last) break;
    from = std::max(from, windows_[place].end);
    ++place;
  }
  const auto fills = begin <= contiguous_from_zero() && end > kSmallBytes;
  if (!growth.added.empty() && (fills || bytes_ + growth.bytes() > most / kMaxShare)) {
    growth.added = {{0, most}};
    growth.is_whole = true;
  }
  return growth;
}

std::size_t ChunkWindows::add(Window window) {
  const auto place = at(window.begin);
  windows_.insert(windows_.begin() + static_cast<std::ptrdiff_t>(place), window);
  bytes_ += window.end - window.begin;
  return place;
}

void ChunkWindows::clear() noexcept {
  windows_.clear();
  bytes_ = 0;
}

}  // namespace framefs::fs
