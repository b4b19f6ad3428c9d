#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "codec/chunk/block_encoder.h"
#include "codec/chunk/chunk_plan.h"
#include "codec/core/result.h"

namespace framefs::codec {

// One thread's means to encode whole chunks, serially; ChunkPlan has the steps for several threads.
// Threads: one at a time.
class ChunkEncoder {
 public:
  // Encodes `plain` as one chunk into the head of `out`, which has room for
  // ChunkPlan::max_bytes(plain.size()), and returns its size; 0 where the bytes are zeros and
  // params.omit_zero_chunks: then there is nothing to store.
  // Errors: those of ChunkPlan::make() and BlockEncoder.
  // Lifetime: the buffers do not overlap.
  Result<std::size_t> encode(const EncodeParams& params, std::span<const std::byte> plain,
                             std::span<std::byte> out);

 private:
  BlockEncoder blocks_;
  std::vector<std::byte> spare_;
  std::vector<std::uint32_t> ends_;
};

}  // namespace framefs::codec
