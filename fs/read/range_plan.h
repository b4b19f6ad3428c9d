#pragma once

#include <vector>

#include "codec/chunk/chunk.h"
#include "codec/core/units.h"

namespace framefs::fs {

using codec::BlockIndex;
using codec::ByteRange;
using codec::ChunkIndex;

// The part of one block that a reader asked for.
struct BlockPiece {
  BlockIndex block;
  ByteRange within;  // of the decoded block
};

// Splits `wanted`, decoded bytes of `chunk` (codec::ChunkBody::blocks), at the chunk's block
// borders. `wanted` lies inside the chunk and is not empty.  Pure arithmetic.
std::vector<BlockPiece> plan_blocks(const codec::Chunk& chunk, ByteRange wanted);

}  // namespace framefs::fs
