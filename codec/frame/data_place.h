#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "codec/array/array_meta.h"
#include "codec/chunk/chunk.h"
#include "codec/core/byte_source.h"
#include "codec/core/limits.h"
#include "codec/core/result.h"
#include "codec/core/units.h"
#include "codec/frame/fetched_blocks.h"
#include "codec/frame/frame_header.h"
#include "codec/frame/metalayer.h"

namespace framefs::codec {

// Where the data of a frame lie: in the frame, or elsewhere.  A recipe has no data, and a cache of
// remote data may lack some of its blocks.  Absent bytes must not be read as zeros, so a reader
// asks this object before it uses an entry, a chunk or a range of bytes.
//
// `fetched` is below the record that read_fetched() returned, null for frames that are no cache; a
// cache has nothing without its record.
// Immutable; any number of threads may use it.
// Source: codec/FORMAT.md, "Frames without their data".
class DataPlace {
 public:
  DataPlace() = default;
  // `array` is as in Frame::array().
  static DataPlace of(const FrameHeader& header, const std::vector<Metalayer>& metalayers,
                      const std::optional<Result<ArrayMeta>>& array);

  // Whether the frame stores a recipe instead of data: a lazy expression, a function, a reference
  // to a remote object.  Its chunks mean nothing.
  [[nodiscard]] bool is_recipe() const noexcept { return is_recipe_; }
  // Errors: system, EOPNOTSUPP, for a recipe.
  [[nodiscard]] Status check_holds_data() const;
  // Whether the frame is a cache of remote data, which may lack some of its blocks.
  [[nodiscard]] bool is_remote_cache() const noexcept { return is_remote_cache_; }
  // Whether data of the frame may lie elsewhere: a recipe, or a cache of remote data.
  [[nodiscard]] bool lies_elsewhere() const noexcept { return is_recipe_ || is_remote_cache_; }

  // For a cache of remote data, reads the record of the blocks that are there; nothing for other
  // frames.  The record may take limits.fetched_bytes of memory for a file of a few KiB.  A record
  // that cannot be used counts as absent.
  // Errors: errors of the source; those of is_work_error().
  [[nodiscard]] Result<std::optional<FetchedBlocks>> read_fetched(
      const ByteSource& source, const std::vector<Metalayer>& vlmetalayers,
      std::uint64_t chunk_count, const Limits& limits) const;
  // Whether the frame has at least one block of a chunk.
  [[nodiscard]] bool has_data_of(ChunkIndex chunk, std::int64_t entry,
                                 const FetchedBlocks* fetched) const noexcept;
  // Whether the chunk of an index entry may be opened.
  // Errors: system, EOPNOTSUPP for a recipe, and EIO for a chunk of which a cache has no block.
  [[nodiscard]] Status check_entry(ChunkIndex chunk, std::int64_t entry,
                                   const FetchedBlocks* fetched) const;
  // Whether an opened chunk is one that was fetched.  Errors: system, EIO.
  [[nodiscard]] Status check_opened(const Chunk& chunk, const FetchedBlocks* fetched) const;
  // Whether a cache has all bytes `within` of an opened chunk.
  // Errors: system, EIO, for bytes that the cache has not fetched.
  [[nodiscard]] Status check_fetched(const FetchedBlocks& fetched, ChunkIndex index,
                                     const Chunk& chunk, ByteRange within) const;

 private:
  bool is_recipe_ = false;
  bool is_remote_cache_ = false;
  // Of a cache of remote data, as its blocks are counted; 0 if nothing says it.
  std::uint64_t block_bytes_ = 0;
  std::uint64_t blocks_per_chunk_ = 0;
};

}  // namespace framefs::codec
