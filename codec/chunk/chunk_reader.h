#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "codec/chunk/block_decoder.h"
#include "codec/chunk/chunk.h"
#include "codec/core/byte_source.h"

namespace framefs::codec {

// Reads decoded bytes of one chunk, serially and without a cache.  It serves small chunks such as a
// frame's index and vl-metalayers, tools, and tests as the oracle of the parallel path.
// Threads: one at a time.  Lifetime: source and chunk outlive the reader.
class ChunkReader {
 public:
  ChunkReader(const ByteSource& source, const Chunk& chunk) : source_(source), chunk_(chunk) {}

  // Fills `out` with bytes [offset, offset + out.size()) of the decoded chunk.  Reads only the
  // blocks that hold them.
  // Errors: truncated if the range exceeds the chunk; errors of BlockDecoder and of the source.
  Status read(std::uint64_t offset, std::span<std::byte> out);

  // Decodes one block of a ChunkBody::blocks chunk into `out`, which has the size of block_range().
  Status read_block(BlockIndex block, std::span<std::byte> out);

  // The memory that the reader holds beside the chunk.  Units: bytes.
  [[nodiscard]] std::uint64_t memory_bytes() const noexcept;

 private:
  Status load_partial(BlockIndex block, std::uint64_t size);

  const ByteSource& source_;
  const Chunk& chunk_;
  BlockDecoder decoder_;
  std::vector<std::byte> stored_;
  std::vector<std::byte> first_block_;
  std::vector<std::byte> partial_;  // a block of which a caller wanted only a part
  std::optional<BlockIndex> partial_block_;
};

}  // namespace framefs::codec
