#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "codec/chunk/chunk.h"
#include "codec/core/byte_source.h"
#include "codec/core/limits.h"
#include "codec/core/units.h"
#include "codec/frame/frame_header.h"
#include "codec/frame/metalayer.h"

namespace framefs::codec {

// A contiguous frame whose header, metalayers, trailer and index header have been read and checked.
// The index itself is a chunk like any other and is read in pieces, where and when it is needed:
// see read_entries(), open_chunk() and, for a serial reader that does it all, FrameReader.
// Immutable after open(); any number of threads may use it.
// Source: frame format; see codec/FORMAT.md.
class Frame {
 public:
  // Opens the frame that starts at byte 0 of `source`; bytes after it are ignored.
  // Errors: truncated, bad_field, unsupported, over_limit, with offsets from the frame's start;
  // those of the source.
  static Result<Frame> open(const ByteSource& source, const Limits& limits);

  [[nodiscard]] const FrameHeader& header() const noexcept { return header_; }
  [[nodiscard]] std::uint64_t nbytes() const noexcept { return header_.nbytes; }
  [[nodiscard]] std::uint64_t chunk_count() const noexcept { return chunk_count_; }

  // The decoded bytes of a chunk within the frame's.  Only for frames of one chunk size.
  [[nodiscard]] ByteRange chunk_range(ChunkIndex chunk) const;

  // Reads the index entries of the chunks from `first` on.  first + out.size() <= chunk_count().
  // Errors: those of reading a chunk, with offsets from the frame's start.
  Status read_entries(const ByteSource& source, ChunkIndex first,
                      std::span<std::int64_t> out) const;

  // What this object holds.  Units: bytes.
  [[nodiscard]] std::uint64_t memory_bytes() const noexcept;

  // Reads the header and tables of the chunk that `entry`, its entry in the index, points at. Where
  // chunks vary in size, a chunk of any size will do; else it must have that of chunk_range().
  // Errors: as Chunk::open(), with offsets from the frame's start; bad_field for a wrong entry.
  Result<Chunk> open_chunk(const ByteSource& source, ChunkIndex chunk, std::int64_t entry,
                           const Limits& limits) const;

  // Only the decoded size of a chunk, for frames whose chunks vary.  Errors: as open_chunk().
  Result<std::uint32_t> read_chunk_nbytes(const ByteSource& source, ChunkIndex chunk,
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
  Status load_header(const ByteSource& source, std::uint64_t source_bytes, const Limits& limits);
  Result<std::uint64_t> load_trailer(const ByteSource& source, const Limits& limits);
  Status load_index(const ByteSource& source, std::uint64_t trailer_at, const Limits& limits);
  [[nodiscard]] Result<std::uint64_t> chunk_offset(ChunkIndex chunk, std::int64_t entry) const;
  [[nodiscard]] Result<Chunk> special_chunk(ChunkIndex chunk, std::int64_t entry) const;

  FrameHeader header_;
  std::uint64_t chunk_count_ = 0;
  std::uint64_t index_at_ = 0;
  std::optional<Chunk> index_;  // absent where chunk_count_ is 0
  std::vector<Metalayer> metalayers_;
  std::vector<Metalayer> vlmetalayers_;
};

}  // namespace framefs::codec
