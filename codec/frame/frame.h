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
#include "codec/frame/frame_header.h"
#include "codec/frame/metalayer.h"

namespace framefs::codec {

// A frame whose header, metalayers, trailer and index header have been read and checked.  The index
// itself is a chunk like any other and is read in pieces, where and when it is needed: see
// read_entries(), open_chunk() and, for a serial reader that does it all, FrameReader.
//
// Two sources play a part.  `source` is what the frame was opened from.  `chunks` is where its chunks
// are: the same source for a contiguous frame; for a sparse one its chunk files, see chunk_space.h.
// Immutable after opening; any number of threads may use it.
// Source: frame format; see codec/FORMAT.md.
class Frame {
 public:
  // Opens the contiguous frame that starts at byte 0 of `source`; bytes after it are ignored.
  // Errors: truncated, bad_field, unsupported, over_limit, with offsets from the frame's start;
  // those of the source.
  static Result<Frame> open(const ByteSource& source, const Limits& limits) {
    return open_as(FrameType::contiguous, source, limits);
  }
  // The same for the index file of a sparse frame.
  static Result<Frame> open_sparse(const ByteSource& source, const Limits& limits) {
    return open_as(FrameType::sparse, source, limits);
  }

  [[nodiscard]] const FrameHeader& header() const noexcept { return header_; }
  [[nodiscard]] std::uint64_t nbytes() const noexcept { return header_.nbytes; }
  [[nodiscard]] std::uint64_t chunk_count() const noexcept { return chunk_count_; }

  // What the array metalayer says; nothing where the frame has none.  A broken one, with its error,
  // keeps no one from reading the frame's bytes.
  [[nodiscard]] const std::optional<Result<ArrayMeta>>& array() const noexcept { return array_; }

  // The decoded bytes of a chunk within the frame's.  Only for frames of one chunk size.
  [[nodiscard]] ByteRange chunk_range(ChunkIndex chunk) const;

  // Reads the index entries of the chunks from `first` on.  first + out.size() <= chunk_count().
  // Errors: those of reading a chunk, with offsets from the frame's start.
  Status read_entries(const ByteSource& source, ChunkIndex first,
                      std::span<std::int64_t> out) const;

  // Whether an index entry alone says that all bytes of its chunk are zero, or were never written.
  [[nodiscard]] bool is_zero_entry(std::int64_t entry) const noexcept;

  // What an index entry below 0 says of its chunk.
  // Errors: bad_field for a code that means nothing; unsupported for what a local copy of remote data
  // has not fetched.  Offsets are from the frame's start.
  [[nodiscard]] Result<Special> special_of(ChunkIndex chunk, std::int64_t entry) const;

  // What every chunk's streams and filters need to know of the frame.
  [[nodiscard]] const ChunkContext& context() const noexcept { return context_; }
  // Where the index chunk begins, after which only the trailer follows.
  [[nodiscard]] std::uint64_t index_at() const noexcept { return index_at_; }

  // What this object holds.  Units: bytes.
  [[nodiscard]] std::uint64_t memory_bytes() const noexcept;

  // Reads the header and tables of the chunk that `entry`, its entry in the index, points at. Where
  // chunks vary in size, a chunk of any size will do; else it must have that of chunk_range().
  // Errors: as Chunk::open(), with offsets from the start of the file that the chunk is in; bad_field
  // for a wrong entry.
  Result<Chunk> open_chunk(const ByteSource& chunks, ChunkIndex chunk, std::int64_t entry,
                           const Limits& limits) const;

  // Only the decoded size of a chunk, for frames whose chunks vary.  Errors: as open_chunk().
  Result<std::uint32_t> read_chunk_nbytes(const ByteSource& chunks, ChunkIndex chunk,
                                          std::int64_t entry) const;

  // In stored order.  The contents of vl-metalayers are chunks: see read_vlmetalayer().
  [[nodiscard]] const std::vector<Metalayer>& metalayers() const noexcept { return metalayers_; }
  [[nodiscard]] const std::vector<Metalayer>& vlmetalayers() const noexcept {
    return vlmetalayers_;
  }

  // The content of one of metalayers().  Errors: those of the source.
  static Result<std::vector<std::byte>> read_metalayer(const ByteSource& source,
                                                       const Metalayer& layer);
  // The decoded content of one of vlmetalayers().
  // Errors: over_limit above limits.vlmeta_bytes; those of reading a chunk.
  static Result<std::vector<std::byte>> read_vlmetalayer(const ByteSource& source,
                                                         const Metalayer& layer,
                                                         const Limits& limits);

 private:
  Frame() = default;
  static Result<Frame> open_as(FrameType type, const ByteSource& source, const Limits& limits);
  Status load_header(FrameType type, const ByteSource& source, const Limits& limits);
  void load_array_meta(std::span<const std::byte> header);
  Result<std::uint64_t> load_trailer(const ByteSource& source, const Limits& limits);
  Status load_index(const ByteSource& source, std::uint64_t trailer_at, const Limits& limits);
  // Where a stored chunk is.
  struct StoredChunk {
    std::uint64_t offset = 0;     // in `chunks`
    std::uint64_t available = 0;  // bytes from there that it may take
    std::uint64_t file_at = 0;    // where in `chunks` the file that it is in begins
  };
  [[nodiscard]] Result<StoredChunk> find_stored(const ByteSource& chunks, ChunkIndex chunk,
                                                std::int64_t entry) const;
  [[nodiscard]] Result<Chunk> special_chunk(ChunkIndex chunk, std::int64_t entry) const;
  [[nodiscard]] bool is_proxy() const noexcept;

  FrameHeader header_;
  std::uint64_t chunk_count_ = 0;
  std::uint64_t index_at_ = 0;
  std::optional<Chunk> index_;  // absent where chunk_count_ is 0
  std::vector<Metalayer> metalayers_;
  std::vector<Metalayer> vlmetalayers_;
  std::optional<Result<ArrayMeta>> array_;
  ChunkContext context_;  // of every chunk but the index and the vl-metalayers
};

}  // namespace framefs::codec
