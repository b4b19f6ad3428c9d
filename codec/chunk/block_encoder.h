#pragma once

#include <cstddef>
#include <span>

#include "codec/chunk/chunk_plan.h"
#include "codec/compressor/stream_encoder.h"
#include "codec/core/result.h"
#include "codec/core/scratch.h"

namespace framefs::codec {

// One thread's means to encode blocks: codec contexts and scratch memory, kept from block to block.
// Threads: one at a time.
class BlockEncoder {
 public:
  // Encodes one block of a plan whose outcome is ChunkOutcome::blocks into the head of `out`, and
  // returns how many bytes that took. `plain` holds the bytes of block_range(); `out` has room for
  // max_block_bytes().  What comes out depends on plan and bytes alone.
  // Errors: system, where there is no memory; over_limit, as the codec has it.
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
