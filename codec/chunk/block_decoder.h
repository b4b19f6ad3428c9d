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

// One thread's means to decode blocks: codec contexts and scratch memory, kept from block to block.
// Threads: one at a time.
class BlockDecoder {
 public:
  // Decodes one block of `chunk` (ChunkBody::blocks) into `out`, whose size is that of
  // block_range(). `stored` holds the bytes of stored_range(); `first_block` the decoded block 0
  // where the chunk needs_first_block() and `block` is not itself the first, else nothing.
  // Errors: truncated, bad_field, `at` counted from the start of `stored`; unsupported, for a codec
  // that this build lacks, from the start of the chunk.  `out` then holds no meaningful bytes.
  Status decode(const Chunk& chunk, BlockIndex block, std::span<const std::byte> stored,
                std::span<std::byte> out, std::span<const std::byte> first_block);

  // The same for bytes `part` of the block alone, of a chunk that has_parts(): no more of the streams is
  // decoded, or checked, than they need.  Of LZ4 and BloscLZ streams that is the beginning, and of others
  // all.  `out` is of the block's size all the same; what it holds beside `part` is unspecified.
  Status decode_part(const Chunk& chunk, BlockIndex block, std::span<const std::byte> stored,
                     std::span<std::byte> out, ByteRange part);
  // Whether its blocks can be decoded in part.
  [[nodiscard]] static bool has_parts(const Chunk& chunk);

 private:
  // Of a stream, its number among so many, that makes up the filtered block: how many of its first bytes
  // are wanted.
  struct Wanted {
    const FilterPipeline* filters = nullptr;  // null: all
    ByteRange part;
    [[nodiscard]] std::size_t prefix(std::size_t block_bytes, std::size_t count,
                                     std::size_t stream) const;
  };
  Status decode_streams(const Chunk& chunk, std::uint32_t stream_count,
                        std::span<const std::byte> stored, std::span<std::byte> plain,
                        const Wanted& wanted);
  Status decode_stream(const Chunk& chunk, ByteReader& in, std::span<std::byte> out,
                       std::size_t count);
  Status decode_vl_stream(const Chunk& chunk, std::span<const std::byte> stored,
                          std::span<std::byte> plain);

  StreamDecoder streams_;
  Scratch scratch_;
};

}  // namespace framefs::codec
