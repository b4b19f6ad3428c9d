#pragma once

#include <memory>
#include <vector>

#include "codec/chunk/chunk.h"
#include "codec/chunk/chunk_plan.h"
#include "codec/core/byte_source.h"

namespace framefs::fs {

// The next version of a stored chunk in which most blocks did not change.  The encoded bytes of
// these blocks are copied; only the other blocks are decoded and encoded.
// Lifetime: `source` outlives it.  The stored chunk stays as it is until the update is written.
struct ChunkUpdate {
  codec::ChunkPlan plan;
  std::shared_ptr<const codec::Chunk> stored;
  const codec::ByteSource* source = nullptr;  // holds the bytes of `stored`
  std::vector<bool> kept;                     // by block of the plan: copied from `stored`
};

}  // namespace framefs::fs
