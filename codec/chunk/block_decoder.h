#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "codec/chunk/chunk.h"
#include "codec/compressor/stream_decoder.h"
#include "codec/core/byte_reader.h"
#include "codec/core/result.h"
#include "codec/core/scratch.h"

namespace framefs::codec {

// Decodes blocks for one thread.  Codec contexts and scratch memory are kept from block to block.
// Threads: one at a time.
class BlockDecoder {
 public:
  // Decodes one block of `chunk` (ChunkBody::blocks) into `out`, which has the size of
  // block_range().  `stored` holds the bytes of stored_range().  `first_block` holds the decoded
  // block 0 if chunk.needs_first_block() and `block` is not block 0; otherwise it is empty.
  // Errors: truncated, bad_field, with `at` counted from the start of `stored`; unsupported, with
  // `at` counted from the start of the chunk, for a codec that this build lacks.  The content of
  // `out` is then undefined.
  Status decode(const Chunk& chunk, BlockIndex block, std::span<const std::byte> stored,
                std::span<std::byte> out, std::span<const std::byte> first_block);

  // Decodes only the bytes `part` of a block, of a chunk that has_parts().  The decoder decodes,
  // and checks, no more of the streams than it needs: the beginning of LZ4 and BloscLZ streams, and
  // all of other streams.  `out` has the size of the block; its bytes outside of `part` are
  // undefined.
  Status decode_part(const Chunk& chunk, BlockIndex block, std::span<const std::byte> stored,
                     std::span<std::byte> out, ByteRange part);
  // Whether decode_part() can be used for the chunk's blocks.
  [[nodiscard]] static bool has_parts(const Chunk& chunk);

  // The scratch memory that it keeps.
  [[nodiscard]] std::size_t memory_bytes() const noexcept { return scratch_.memory_bytes(); }

 private:
  // How many of its first bytes each stream must decode.
  struct Wanted {
    const FilterPipeline* filters = nullptr;  // null: all bytes
    ByteRange part;
    [[nodiscard]] std::size_t prefix(std::size_t block_bytes, std::size_t count,
                                     std::size_t stream) const;
  };
  Status decode_streams(const Chunk& chunk, std::uint32_t stream_count,
                        std::span<const std::byte> stored, std::span<std::byte> plain,
                        const Wanted& wanted);
  Status decode_unsplit(const Chunk& chunk, std::span<const std::byte> stored,
                        std::span<std::byte> plain);
  Status decode_stream(const Chunk& chunk, ByteReader& in, std::span<std::byte> out,
                       std::size_t count);
  Status decode_vl_stream(const Chunk& chunk, std::span<const std::byte> stored,
                          std::span<std::byte> plain);

  StreamDecoder streams_;
  Scratch scratch_;
};

}  // namespace framefs::codec
