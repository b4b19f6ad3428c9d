#include "fs/read/range_plan.h"

#include <algorithm>

namespace framefs::fs {

bool BlockPieces::next() {
  if (left_.size == 0) return false;
  const auto range = chunk_.block_range(next_);
  const auto skip = left_.offset - range.offset;
  const auto take = std::min(range.size - skip, left_.size);
  piece_ = {next_, {skip, take}};
  left_.offset += take;
  left_.size -= take;
  ++next_.value;
  return true;
}

std::vector<BlockPiece> plan_blocks(const codec::Chunk& chunk, ByteRange wanted) {
  std::vector<BlockPiece> pieces;
  for (BlockPieces all(chunk, wanted); all.next();) pieces.push_back(all.piece());
  return pieces;
}

}  // namespace framefs::fs
