#pragma once

#include <cstddef>
#include <span>

#include "codec/chunk/chunk.h"
#include "codec/compressor/stream_decoder.h"
#include "codec/core/result.h"
#include "codec/core/scratch.h"

namespace framefs::codec {

// One thread's means to decode blocks: codec contexts and scratch memory, kept from block to block.
// Threads: one at a time.
class BlockDecoder {
 public:
  // Decodes one block of `chunk` (ChunkBody::blocks) into `out`, whose size is that of
  // block_range(). `stored` holds the bytes of stored_range(); `first_block` the decoded block 0
  // where the chunk needs_first_block() and `block` is not itself the first, else nothing.
  // Errors: truncated, bad_field, unsupported, `at` counted from the start of `stored`; `out` then
  // holds no meaningful bytes.
  Status decode(const Chunk& chunk, BlockIndex block, std::span<const std::byte> stored,
                std::span<std::byte> out, std::span<const std::byte> first_block);

 private:
  Status decode_streams(const Chunk& chunk, std::uint32_t stream_count,
                        std::span<const std::byte> stored, std::span<std::byte> plain);
  Status decode_vl_stream(const Chunk& chunk, std::span<const std::byte> stored,
                          std::span<std::byte> plain);

  StreamDecoder streams_;
  Scratch scratch_;
};

}  // namespace framefs::codec
