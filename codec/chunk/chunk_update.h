#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "codec/chunk/chunk.h"
#include "codec/chunk/chunk_plan.h"
#include "codec/core/byte_source.h"

namespace framefs::codec {

// The next version of a stored chunk in which most blocks did not change.  The encoded bytes of
// these blocks are copied; only the other blocks are decoded and encoded.
// Lifetime: `source` outlives it.  The stored chunk stays as it is until the update is written.
struct ChunkUpdate {
  ChunkPlan plan;
  std::shared_ptr<const Chunk> stored;
  const ByteSource* source = nullptr;  // holds the bytes of `stored`
  std::vector<bool> kept;              // by block of the plan: copied from `stored`
};

// Returns the encoded bytes of a block that is not kept.  assemble_update() calls it for all of
// these blocks, in ascending order, and does not use the bytes after the next call.
using EncodedBlock = std::function<Result<std::span<const std::byte>>(BlockIndex)>;

// Writes the chunk to the head of `out`, which has room for header, block starts and all blocks.
// Returns its size, or 0 if the chunk would not be smaller than its plain bytes.
// Errors: those of `encoded` and of reading `stored`.
Result<std::size_t> assemble_update(const ChunkUpdate& update, const EncodedBlock& encoded,
                                    std::span<std::byte> out);

}  // namespace framefs::codec
