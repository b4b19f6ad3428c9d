#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "codec/chunk/chunk.h"
#include "codec/core/units.h"

namespace framefs::fs {

using codec::ByteRange;

// The shape of a chunk.  All chunks of a frame usually have the same shape.
struct ChunkShape {
  std::uint64_t table_bytes = 0;  // of header and tables, up to the first block; 0 if not known
  std::uint64_t block_bytes = 0;  // decoded size of a block; 0 if not known
  // The largest distance of a block from the place where it would be if all blocks of the chunk had
  // the same stored size.  Nothing if not known.
  std::optional<std::uint64_t> deviation_bytes{};
};

// The shape of a chunk that is divided into blocks.
ChunkShape shape_of(const codec::Chunk& chunk);

// A read of a chunk whose header and tables have not been read yet.
struct FirstTouch {
  ByteRange stored;          // where the chunk is stored; the size may be an upper bound
  std::uint64_t nbytes = 0;  // decoded size of the chunk
  ByteRange within;          // the decoded bytes that the read wants
  bool goes_on = false;      // the reader will want the bytes behind them, too
};

// Guesses the stored bytes that the read needs: header and tables, and a window around the place
// where the blocks probably are.  A source that is far away fetches both in one round trip.  If the
// window would be mostly waste, the ranges are header and tables alone, but for a reader that goes
// on.
// `shape` is the shape of another chunk of the frame.
std::vector<ByteRange> first_touch_ranges(const FirstTouch& touch, const ChunkShape& shape);

}  // namespace framefs::fs
