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

// Ways to decode the same bytes that have little in common, for holding one against another.

// All of a chunk by one read.
codec::Result<std::vector<std::byte>> decode_whole(const codec::ByteSource& source,
                                                   const codec::Chunk& chunk);

// All of a chunk block by block, each by a decoder that has seen no other; chunks that have no
// blocks in pieces.
codec::Result<std::vector<std::byte>> decode_by_blocks(const codec::ByteSource& source,
                                                       const codec::Chunk& chunk);

// True where `reads` ranges chosen by `random` decode to what `whole` has there.
bool subranges_agree(const codec::ByteSource& source, const codec::Chunk& chunk,
                     std::span<const std::byte> whole, std::mt19937& random, int reads);

// True where `count` parts of blocks chosen by `random`, each decoded by itself, are what `whole` has
// there.
bool parts_agree(const codec::ByteSource& source, const codec::Chunk& chunk,
                 std::span<const std::byte> whole, std::mt19937& random, int count);

// The same of a whole frame; see codec::Frame for its two sources.
bool subranges_agree(const codec::ByteSource& source, const codec::ByteSource& chunks,
                     const codec::Frame& frame, const codec::Limits& limits,
                     std::span<const std::byte> whole, std::mt19937& random, int reads);

}  // namespace framefs::test
