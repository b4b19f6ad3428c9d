#pragma once

#include <vector>

#include "codec/chunk/chunk.h"
#include "codec/core/units.h"

namespace framefs::fs {

using codec::BlockIndex;
using codec::ByteRange;
using codec::ChunkIndex;

// The part of one block that a reader requested.
struct BlockPiece {
  BlockIndex block;
  ByteRange within;  // of the decoded block
};

// Splits `wanted`, decoded bytes of `chunk` (codec::ChunkBody::blocks), at the chunk's block
// borders.  It gives one piece at a time, because there may be as many pieces as bytes.  `wanted`
// lies inside the chunk.
// Lifetime: `chunk` outlives it.
class BlockPieces {
 public:
  BlockPieces(const codec::Chunk& chunk, ByteRange wanted) : chunk_(chunk), left_(wanted) {
    if (left_.size > 0) next_ = chunk.block_at(left_.offset);
  }
  // Returns false if there is no further piece.  piece() is invalid then, and before the first
  // call.
  bool next();
  [[nodiscard]] const BlockPiece& piece() const noexcept { return piece_; }

 private:
  const codec::Chunk& chunk_;
  ByteRange left_;
  BlockIndex next_;
  BlockPiece piece_{};
};

// Returns all pieces of `wanted`, decoded bytes of `chunk` (codec::ChunkBody::blocks), split at the
// chunk's block borders.  `wanted` lies inside the chunk and is not empty.  Pure arithmetic.
std::vector<BlockPiece> plan_blocks(const codec::Chunk& chunk, ByteRange wanted);

}  // namespace framefs::fs
