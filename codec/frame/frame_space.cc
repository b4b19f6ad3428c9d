#include "codec/frame/frame_space.h"

#include <algorithm>
#include <iterator>

namespace framefs::codec {

void append_range(std::vector<ByteRange>& ranges, ByteRange range) {
  if (!ranges.empty() && ranges.back().offset + ranges.back().size == range.offset) {
    ranges.back().size += range.size;
  } else {
    ranges.push_back(range);
  }
}

std::uint64_t FrameSpace::dead_bytes() const noexcept {
  std::uint64_t sum = 0;
  for (const auto& [at, size] : free_) sum += size;
  for (const auto& range : dead_) sum += range.size;
  for (const auto& range : retired_) sum += range.size;
  return sum;
}

std::uint64_t FrameSpace::append(std::uint64_t size) {
  const auto at = end_;
  end_ += size;
  return at;
}

void FrameSpace::raise_end(std::uint64_t at) {
  if (at <= end_) return;
  dead_.push_back({end_, at - end_});
  end_ = at;
}

std::uint64_t FrameSpace::allocate(std::uint64_t size) {
  const auto fits = by_size_.lower_bound({size, 0});
  if (fits == by_size_.end()) return append(size);
  const auto free = free_.find(fits->second);
  return take(free, free->first, size);
}

std::uint64_t FrameSpace::allocate_from(std::uint64_t from, std::uint64_t size) {
  auto free = free_.lower_bound(from);
  if (free != free_.begin()) {
    const auto before = std::prev(free);
    const auto room = before->first + before->second;
    if (room > from && room - from >= size) return take(before, from, size);
  }
  for (; free != free_.end(); ++free) {
    if (free->second >= size) return take(free, free->first, size);
  }
  return append(size);
}

std::uint64_t FrameSpace::take(Free::iterator free, std::uint64_t at, std::uint64_t size) {
  const auto [begin, room] = *free;
  remove(free);
  if (at > begin) insert({begin, at - begin});
  if (begin + room > at + size) insert({at + size, begin + room - at - size});
  return at;
}

void FrameSpace::remove(Free::iterator free) {
  by_size_.erase({free->second, free->first});
  free_.erase(free);
}

void FrameSpace::insert(ByteRange range) {
  if (range.size == 0 || range.offset >= end_) return;
  auto begin = range.offset;
  auto end = range.offset + range.size;
  auto next = free_.upper_bound(begin);
  if (next != free_.begin()) {
    const auto before = std::prev(next);
    if (before->first + before->second >= begin) next = before;
  }
  while (next != free_.end() && next->first <= end) {
    begin = std::min(begin, next->first);
    end = std::max(end, next->first + next->second);
    remove(next++);
  }
  // Free units at the end lower end_ instead of becoming a hole.
  if (end >= end_) {
    end_ = begin;
    return;
  }
  free_.emplace(begin, end - begin);
  by_size_.emplace(end - begin, begin);
}

void FrameSpace::take_back(ByteRange range) { insert(range); }

void FrameSpace::commit() {
  for (const auto& range : std::exchange(dead_, std::exchange(retired_, {}))) insert(range);
}

}  // namespace framefs::codec
