#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "codec/chunk/block_decoder.h"
#include "codec/chunk/chunk.h"
#include "codec/core/byte_source.h"

namespace framefs::codec {

// Reads decoded bytes of one chunk, serially and without a cache: for small chunks such as a
// frame's index and vl-metalayers, for tools, and as the oracle of the parallel path.
// Threads: one at a time.  Lifetime: source and chunk outlive it.
class ChunkReader {
 public:
  ChunkReader(const ByteSource& source, const Chunk& chunk) : source_(source), chunk_(chunk) {}

  // Fills `out` with bytes [offset, offset + out.size()) of the decoded chunk; only the blocks they
  // lie in are fetched.
  // Errors: truncated where the range passes the chunk's end; those of BlockDecoder and the source.
  Status read(std::uint64_t offset, std::span<std::byte> out);

  // Decodes one block of a ChunkBody::blocks chunk into `out`, of block_range()'s size.
  Status read_block(BlockIndex block, std::span<std::byte> out);

 private:
  const ByteSource& source_;
  const Chunk& chunk_;
  BlockDecoder decoder_;
  std::vector<std::byte> stored_;
  std::vector<std::byte> first_block_;
  std::vector<std::byte> partial_;
};

}  // namespace framefs::codec
