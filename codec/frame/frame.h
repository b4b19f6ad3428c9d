#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "codec/array/array_meta.h"
#include "codec/chunk/chunk.h"
#include "codec/chunk/chunk_context.h"
#include "codec/core/byte_source.h"
#include "codec/core/limits.h"
#include "codec/core/units.h"
#include "codec/frame/data_place.h"
#include "codec/frame/fetched_blocks.h"
#include "codec/frame/frame_header.h"
#include "codec/frame/frame_trailer.h"
#include "codec/frame/metalayer.h"
#include "codec/frame/stored_index.h"

namespace framefs::codec {

// A frame whose header, metalayers, trailer and index header have been read and checked.  The index
// is stored as a chunk and is read in parts when needed: see read_entries() and open_chunk().
// FrameReader is a serial reader that does all of this.
//
// A frame has two sources.  `source` is the source that the frame was opened from.  `chunks` holds
// its chunks: the same source for a contiguous frame, the chunk files for a sparse frame (see
// chunk_space.h).
// Immutable after opening; any number of threads may use it.
// Source: frame format; see codec/FORMAT.md.
class Frame {
 public:
  // Opens the contiguous frame that starts at byte 0 of `source`.  Bytes after the frame are
  // ignored.
  // Errors: truncated, bad_field, unsupported, over_limit, with offsets from the frame's start;
  // errors of the source.
  static Result<Frame> open(const ByteSource& source, const Limits& limits) {
    return open_as(FrameType::contiguous, source, limits);
  }
  // The same for the index file of a sparse frame.
  static Result<Frame> open_sparse(const ByteSource& source, const Limits& limits) {
    return open_as(FrameType::sparse, source, limits);
  }

  [[nodiscard]] const FrameHeader& header() const noexcept { return header_; }
  [[nodiscard]] std::uint64_t nbytes() const noexcept { return header_.nbytes; }
  [[nodiscard]] std::uint64_t chunk_count() const noexcept {
    return index_ ? index_->entries() : 0;
  }

  // The array metalayer; nothing if the frame has none.  If it is damaged, this holds the error,
  // and the frame's bytes can still be read.
  [[nodiscard]] const std::optional<Result<ArrayMeta>>& array() const noexcept { return array_; }

  // The decoded bytes of a chunk, as a range of the frame.  Only for frames whose chunks have equal
  // sizes.
  [[nodiscard]] ByteRange chunk_range(ChunkIndex chunk) const;

  // The number of index entries to read together.  If every read starts at a multiple of this
  // number, no entry is decoded twice.
  [[nodiscard]] std::uint64_t window_entries() const noexcept {
    return index_ ? index_->window_entries() : 1;
  }

  // Reads the index entries of the chunks from `first` on.  first + out.size() <= chunk_count().
  // Errors: errors of reading a chunk, with offsets from the frame's start.
  [[nodiscard]] Status read_entries(const ByteSource& source, ChunkIndex first,
                                    std::span<std::int64_t> out) const;

  // Whether the frame has its data; if not, open_chunk() refuses the chunks that are not there.
  [[nodiscard]] const DataPlace& data_place() const noexcept { return data_place_; }
  // DataPlace::read_fetched() of this frame, which does not keep the record.
  [[nodiscard]] Result<std::optional<FetchedBlocks>> read_fetched(const ByteSource& source,
                                                                  const Limits& limits) const {
    return data_place_.read_fetched(source, vlmetalayers_, chunk_count(), limits);
  }

  // Whether an index entry alone shows that all bytes of its chunk are zero or were never written.
  [[nodiscard]] bool is_zero_entry(std::int64_t entry) const noexcept;

  // The kind of special chunk that a negative index entry describes.
  // Errors: bad_field for a code without a meaning, with an offset from the frame's start.
  [[nodiscard]] Result<Special> special_of(ChunkIndex chunk, std::int64_t entry) const;

  // The properties of the frame that its chunks need for decoding.
  [[nodiscard]] const ChunkContext& context() const noexcept { return context_; }
  // The offset of the index chunk.  Only the trailer follows it.
  [[nodiscard]] std::uint64_t index_at() const noexcept { return index_ ? index_->at() : 0; }

  // The memory that this object holds.  Units: bytes.
  [[nodiscard]] std::uint64_t memory_bytes() const noexcept;

  // Reads the header and the tables of the chunk that index entry `entry` refers to.  The chunk
  // must have the size of chunk_range(), unless the frame's chunks vary in size.  `fetched` is as
  // for DataPlace::has_data_of().
  // Errors: errors of Chunk::open(), with offsets from the start of the file that holds the chunk;
  // bad_field for a wrong entry; system, with EOPNOTSUPP for a recipe, and EIO for a chunk of which
  // a cache of remote data has no block.
  [[nodiscard]] Result<Chunk> open_chunk(const ByteSource& chunks, ChunkIndex chunk,
                                         std::int64_t entry, const Limits& limits,
                                         const FetchedBlocks* fetched = nullptr) const;

  // Reads only the decoded size of a chunk, for frames whose chunks vary.  Errors: as open_chunk().
  [[nodiscard]] Result<std::uint32_t> read_chunk_nbytes(const ByteSource& chunks, ChunkIndex chunk,
                                                        std::int64_t entry) const;

  // In stored order.  The content of a vl-metalayer is a chunk.  metalayer_content.h reads them.
  [[nodiscard]] const std::vector<Metalayer>& metalayers() const noexcept { return metalayers_; }
  [[nodiscard]] const std::vector<Metalayer>& vlmetalayers() const noexcept {
    return vlmetalayers_;
  }

  [[nodiscard]] TrailerSeal seal() const noexcept { return seal_; }

 private:
  Frame() = default;
  static Result<Frame> open_as(FrameType type, const ByteSource& source, const Limits& limits);
  Status load_header(FrameType type, const ByteSource& source, const Limits& limits);
  Status load_array_meta(const ByteSource& header, const Limits& limits);
  Result<std::uint64_t> load_trailer(const ByteSource& source, const Limits& limits);
  Status load_index(const ByteSource& source, std::uint64_t trailer_at, const Limits& limits);
  // The location of a stored chunk.
  struct StoredChunk {
    std::uint64_t offset = 0;     // in `chunks`
    std::uint64_t available = 0;  // the most bytes that the chunk can have
    std::uint64_t file_at = 0;    // start of the file that holds it, in `chunks`
  };
  [[nodiscard]] Result<StoredChunk> find_stored(const ByteSource& chunks, ChunkIndex chunk,
                                                std::int64_t entry) const;
  [[nodiscard]] Result<Chunk> special_chunk(ChunkIndex chunk, std::int64_t entry) const;

  FrameHeader header_;
  std::optional<StoredIndex> index_;  // nothing if there are no chunks
  std::vector<Metalayer> metalayers_;
  std::vector<Metalayer> vlmetalayers_;
  TrailerSeal seal_ = TrailerSeal::none;
  std::optional<Result<ArrayMeta>> array_;
  DataPlace data_place_;
  ChunkContext context_;  // of every chunk except the index and the vl-metalayers
};

}  // namespace framefs::codec
