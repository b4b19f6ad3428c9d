#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "codec/chunk/block_encoder.h"
#include "codec/chunk/chunk_plan.h"
#include "codec/core/result.h"

namespace framefs::codec {

// Encodes whole chunks serially, for one thread.  To encode the blocks in parallel, see ChunkPlan.
// Threads: one at a time.
class ChunkEncoder {
 public:
  // Encodes `plain` as one chunk into the head of `out` and returns the size of the chunk.  `out`
  // has room for ChunkPlan::max_bytes(plain.size()).  Returns 0, for nothing to store, if the bytes
  // are zeros and params.omit_zero_chunks is set.
  // Errors: errors of ChunkPlan::make() and BlockEncoder.
  // Lifetime: the buffers do not overlap.
  Result<std::size_t> encode(const EncodeParams& params, std::span<const std::byte> plain,
                             std::span<std::byte> out);

 private:
  BlockEncoder blocks_;
  std::vector<std::byte> spare_;
  std::vector<std::uint32_t> ends_;
};

}  // namespace framefs::codec
