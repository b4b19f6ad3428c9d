#pragma once

#include <cstddef>
#include <span>

#include "codec/chunk/chunk_plan.h"
#include "codec/compressor/stream_encoder.h"
#include "codec/core/result.h"
#include "codec/core/scratch.h"

namespace framefs::codec {

// Encodes blocks for one thread.  Codec contexts and scratch memory are kept from block to block.
// Threads: one at a time.
class BlockEncoder {
 public:
  // Encodes one block into the head of `out` and returns the encoded size.  The plan's outcome is
  // ChunkOutcome::blocks.  `plain` holds the bytes of block_range(); `out` has room for
  // max_block_bytes().  The result depends only on the plan and the bytes.
  // Errors: system, if memory runs out; over_limit, from the codec.
  // Lifetime: the buffers do not overlap.
  Result<std::size_t> encode(const ChunkPlan& plan, BlockIndex block,
                             std::span<const std::byte> plain, std::span<std::byte> out);

 private:
  Result<std::size_t> encode_stream(const ChunkPlan& plan, std::span<const std::byte> plain,
                                    std::span<std::byte> out);

  StreamEncoder streams_;
  Scratch first_;
  Scratch second_;
};

}  // namespace framefs::codec
