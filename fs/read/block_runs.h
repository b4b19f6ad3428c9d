#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "fs/read/block_request.h"

namespace framefs::fs {

// Limits of a run of adjacent blocks: the stored bytes of one read, and the decoded bytes of one
// thread.  The limits are high enough to make system calls and scheduling cheap, and low enough to
// keep all CPUs busy.
inline constexpr std::uint64_t kRunStoredBytes = 128u << 10;
inline constexpr std::uint64_t kRunDecodedBytes = 256u << 10;

// One block, and the place of its stored bytes.
struct StoredBlock {
  const BlockRequest& request;
  std::size_t place;  // index in the results
  ByteRange stored;
};

// The number of blocks at the front that are adjacent and make one run.
template <class Stored>
std::size_t run_length(std::span<Stored* const> blocks) {
  std::uint64_t end = blocks.front()->stored.offset;
  std::uint64_t stored = 0;
  std::uint64_t decoded = 0;
  for (std::size_t count = 0; count < blocks.size(); ++count) {
    const auto& block = *blocks[count];
    stored += block.stored.size;
    decoded += block.request.decoded_bytes();
    const bool too_much = stored > kRunStoredBytes || decoded > kRunDecodedBytes;
    if (count > 0 && (too_much || block.stored.offset != end)) return count;
    end = block.stored.offset + block.stored.size;
  }
  return blocks.size();
}

// Splits all blocks into runs, each for one thread.  The runs refer to `by_offset`.
template <class Stored>
auto runs_of(std::vector<Stored>& blocks, std::vector<Stored*>& by_offset) {
  by_offset.reserve(blocks.size());
  for (auto& block : blocks) by_offset.push_back(&block);
  std::ranges::sort(by_offset, {}, [](const Stored* block) { return block->stored.offset; });

  std::vector<std::span<Stored* const>> runs;
  for (std::span<Stored* const> rest(by_offset); !rest.empty();) {
    const auto count = run_length(rest);
    runs.push_back(rest.first(count));
    rest = rest.subspan(count);
  }
  return runs;
}

// The stored bytes of a run.
template <class Stored>
ByteRange range_of(std::span<Stored* const> run) {
  const auto begin = run.front()->stored.offset;
  return {begin, run.back()->stored.offset - begin + run.back()->stored.size};
}

}  // namespace framefs::fs
