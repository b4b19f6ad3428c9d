#include "fs/read/range_plan.h"

#include <algorithm>

namespace framefs::fs {

std::vector<BlockPiece> plan_blocks(const codec::Chunk& chunk, ByteRange wanted) {
  std::vector<BlockPiece> pieces;
  auto block = chunk.block_at(wanted.offset);
  while (wanted.size > 0) {
    const auto range = chunk.block_range(block);
    const auto skip = wanted.offset - range.offset;
    const auto take = std::min(range.size - skip, wanted.size);
    pieces.push_back({block, {skip, take}});
    wanted.offset += take;
    wanted.size -= take;
    ++block.value;
  }
  return pieces;
}

}  // namespace framefs::fs
