#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <random>
#include <vector>

#include "codec/array/array_layout.h"
#include "codec/array/block_run_cursor.h"
#include "codec/array/touched_blocks.h"
#include "codec/core/units.h"

namespace framefs::fuzz {

inline void demand(bool holds) {
  if (!holds) std::abort();
}

// Ends the process unless the blocks that TouchedBlocks lists hold every byte of `range` exactly
// once.  A reply for the range is then overwritten completely, whatever its memory held before.
inline void check_range(const codec::ArrayLayout& layout, codec::ByteRange range) {
  std::vector<std::uint8_t> times(range.size);
  codec::TouchedBlocks(layout, range)
      .for_each([&](codec::ChunkIndex chunk, codec::BlockIndex block) {
        demand(chunk.value < layout.chunk_count() && block.value < layout.blocks_per_chunk());
        for (codec::BlockRunCursor runs(layout, chunk, block, range); runs.next();) {
          const auto& run = runs.run();
          demand(run.within <= layout.block_bytes() &&
                 run.size <= layout.block_bytes() - run.within);
          demand(run.offset >= range.offset && run.offset - range.offset <= range.size &&
                 run.size <= range.size - (run.offset - range.offset));
          for (std::uint64_t i = 0; i < run.size; ++i) ++times[run.offset - range.offset + i];
        }
      });
  demand(std::ranges::all_of(times, [](std::uint8_t count) { return count == 1; }));
}

// The same for some ranges of the array that `random` chooses.
inline void check_runs(const codec::ArrayLayout& layout, std::mt19937& random) {
  constexpr std::uint64_t kMaxRange = 4096;
  if (layout.nbytes() == 0) return;
  for (int i = 0; i < 4; ++i) {
    const std::uint64_t wide = std::uint64_t{random()} << 32 | random();
    const std::uint64_t offset = i == 0 ? 0 : wide % layout.nbytes();
    const std::uint64_t most = std::min(kMaxRange, layout.nbytes() - offset);
    check_range(layout, {offset, i == 0 ? most : 1 + random() % most});
  }
}

}  // namespace framefs::fuzz
