#include "fs/write/commit/chunk_numbers.h"

#include <algorithm>
#include <utility>

#include "codec/frame/chunk_space.h"

namespace framefs::fs {

void ChunkNumbers::begin(std::span<const std::int64_t> entries) {
  std::vector<std::uint32_t> numbers;
  for (const auto entry : entries) {
    if (std::cmp_greater(entry, codec::kMaxChunkFileId)) are_shared_ = true;
    if (entry >= 0) numbers.push_back(static_cast<std::uint32_t>(entry));
  }
  std::ranges::sort(numbers);
  if (std::ranges::adjacent_find(numbers) != numbers.end()) are_shared_ = true;
  const auto end = numbers.empty() ? 0 : std::uint64_t{numbers.back()} + 1;
  state_.with([&](State& now) {
    now.space = codec::FrameSpace(end);
    std::uint64_t next = 0;
    for (const std::uint64_t at : numbers) {
      if (at > next) now.space.add_dead({next, at - next});
      next = at + 1;
    }
  });
}

Result<std::uint32_t> ChunkNumbers::take(std::size_t size) {
  const auto number = state_.with([&](State& now) {
    const auto lowest = now.space.allocate_from(0, 1);
    if (lowest > codec::kMaxChunkFileId) {
      now.space.take_back({lowest, 1});
      return lowest;
    }
    now.fresh.emplace(static_cast<std::uint32_t>(lowest), size);
    now.added_bytes += static_cast<std::int64_t>(size);
    return lowest;
  });
  if (number > codec::kMaxChunkFileId) {
    return codec::fail_value(codec::Errc::over_limit, "number of a chunk file", 0,
                             static_cast<std::int64_t>(number));
  }
  return static_cast<std::uint32_t>(number);
}

void ChunkNumbers::reject(std::uint32_t number) {
  state_.with([&](State& now) {
    now.added_bytes -= static_cast<std::int64_t>(now.fresh.at(number));
    now.fresh.erase(number);
  });
}

bool ChunkNumbers::drop(std::uint32_t number, std::uint64_t bytes) {
  const bool was_fresh = state_.with([&](State& now) {
    const auto found = now.fresh.find(number);
    if (found == now.fresh.end()) {
      if (are_shared_) return false;
      now.added_bytes -= static_cast<std::int64_t>(bytes);
      now.space.retire({number, 1});
      return false;
    }
    now.added_bytes -= static_cast<std::int64_t>(found->second);
    now.space.take_back({number, 1});
    now.fresh.erase(found);
    return true;
  });
  if (!was_fresh && !are_shared_) retired_.push_back(number);
  return was_fresh;
}

std::vector<std::uint32_t> ChunkNumbers::fresh() const {
  return state_.with([](const State& now) {
    std::vector<std::uint32_t> numbers;
    numbers.reserve(now.fresh.size());
    for (const auto& [number, size] : now.fresh) numbers.push_back(number);
    return numbers;
  });
}

std::int64_t ChunkNumbers::added_bytes() const {
  return state_.with([](const State& now) { return now.added_bytes; });
}

void ChunkNumbers::commit() {
  removable_.insert(removable_.end(), dead_.begin(), dead_.end());
  dead_ = std::exchange(retired_, {});
  state_.with([](State& now) {
    now.space.commit();
    now.fresh.clear();
    now.added_bytes = 0;
  });
}

std::vector<std::uint32_t> ChunkNumbers::take_removable() { return std::exchange(removable_, {}); }

std::vector<std::uint32_t> ChunkNumbers::take_dead() { return std::exchange(dead_, {}); }

}  // namespace framefs::fs
