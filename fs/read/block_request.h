#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <span>

#include "codec/chunk/block_decoder.h"
#include "codec/chunk/chunk.h"
#include "codec/frame/chunk_group.h"
#include "fs/read/content_id.h"
#include "fs/read/decode_cache.h"

namespace framefs::fs {

using codec::BlockIndex;
using codec::ByteRange;
using codec::ChunkIndex;

// One block that a read needs; or a group of small chunks, which is fetched and kept like a block.
struct BlockRequest {
  std::shared_ptr<const codec::Chunk> chunk;  // null for a group
  ChunkIndex chunk_index;                     // of a group: its first chunk
  BlockIndex block;
  ContentId content;  // of the chunk
  std::shared_ptr<const codec::ChunkGroup> group = nullptr;
  // No reader needs the bytes of the block from here on: they are not decoded, and damage in them
  // spoils nothing, if the decoder can stop before them.
  std::uint64_t used_bytes = std::numeric_limits<std::uint64_t>::max();

  // The key of the block in the cache.
  [[nodiscard]] CacheKey key() const;
  // The size of the decoded block.
  [[nodiscard]] std::uint64_t decoded_bytes() const;
  // The place of the stored block in the source.
  // Errors: those of the chunk's table; `at` counts from the start of the source.
  [[nodiscard]] codec::Result<ByteRange> stored() const;
  // Whether the block cannot be decoded without the first one of its chunk.
  [[nodiscard]] bool needs_first_block() const;
  // Whether a part of the block can be decoded without what follows it.  Not for a group.
  [[nodiscard]] bool stops_early() const;
  // Decodes the block; of the bytes that are not used, it may set some to 0.  Its stored bytes lie
  // at `offset` in the source.  `first` is the chunk's first block, if this one needs it.  Not for
  // a group.
  // Errors: those of decoding; `at` counts from the start of the source.
  codec::Status decode(codec::BlockDecoder& decoder, std::uint64_t offset,
                       std::span<const std::byte> stored, std::span<std::byte> out,
                       std::span<const std::byte> first) const;

 private:
  [[nodiscard]] std::uint64_t chunk_offset() const;
};

// The bytes of the cache's budget that the requests will use at once, for Admissions::admit().
[[nodiscard]] std::uint64_t needed_bytes(std::span<const BlockRequest> requests);

}  // namespace framefs::fs
