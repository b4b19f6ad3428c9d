#pragma once

#include <cstddef>
#include <random>
#include <span>
#include <vector>

#include "codec/chunk/chunk.h"
#include "codec/core/byte_source.h"
#include "codec/core/limits.h"
#include "codec/core/result.h"
#include "codec/frame/frame.h"

namespace framefs::test {

// Independent ways to decode the same bytes, for comparison.

// Decodes all of a chunk with one read.
codec::Result<std::vector<std::byte>> decode_whole(const codec::ByteSource& source,
                                                   const codec::Chunk& chunk);

// Decodes all of a chunk block by block, each with a decoder of its own.  A chunk without blocks is
// read in pieces.  Each block is decoded twice.  Before each time, the destination, the scratch
// memory and the contexts of the codec hold the bytes of another file.
// Errors: internal, "old bytes", if the two results differ.
codec::Result<std::vector<std::byte>> decode_by_blocks(const codec::ByteSource& source,
                                                       const codec::Chunk& chunk);

// Whether `reads` random ranges decode to the bytes that `whole` has there.
bool subranges_agree(const codec::ByteSource& source, const codec::Chunk& chunk,
                     std::span<const std::byte> whole, std::mt19937& random, int reads);

// Whether `count` random parts of blocks, each decoded on its own, equal the bytes in `whole`.  If
// the chunk does not decode, `whole` is empty, and the parts may fail.  As above, no part may
// depend on the bytes of another file.
bool parts_agree(const codec::ByteSource& source, const codec::Chunk& chunk,
                 std::span<const std::byte> whole, std::mt19937& random, int count);

// The same for a frame; class codec::Frame describes the two sources.
bool subranges_agree(const codec::ByteSource& source, const codec::ByteSource& chunks,
                     const codec::Frame& frame, const codec::Limits& limits,
                     std::span<const std::byte> whole, std::mt19937& random, int reads);

}  // namespace framefs::test
