#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "codec/chunk/chunk.h"
#include "codec/core/byte_source.h"
#include "codec/core/limits.h"
#include "codec/core/result.h"
#include "codec/core/units.h"

namespace framefs::codec {

// The index of a frame: a chunk of 64-bit entries, one for each chunk of the frame.  It is decoded
// in pieces when entries are needed, because a few bytes of a file may claim millions of them.
//
// Offsets of errors count from the frame's start.
// Immutable after open(); any number of threads may use it.
// Source: frame format, "Index".
class StoredIndex {
 public:
  // Reads the header and the tables of the index, which is the chunk at the start of `place`.
  // `entries` is how many the frame must have; nothing if only the index says it.
  // Errors: those of Chunk::open(), with lower limits; bad_field for a chunk that is not an index
  // of that many entries; unsupported for blocks of varying sizes.
  static Result<StoredIndex> open(const ByteSource& source, ByteRange place,
                                  std::optional<std::uint64_t> entries, const Limits& limits);

  [[nodiscard]] std::uint64_t entries() const noexcept { return entries_; }
  // Where the index begins in the frame.
  [[nodiscard]] std::uint64_t at() const noexcept { return place_.offset; }
  // The number of entries to read together.  If every read starts at a multiple of this number, no
  // entry is decoded twice.
  [[nodiscard]] std::uint64_t window_entries() const noexcept { return window_entries_; }
  // The memory that the object holds in addition to its size.  Units: bytes.
  [[nodiscard]] std::uint64_t table_bytes() const noexcept {
    return tables_ ? tables_->memory_bytes() : 0;
  }

  // Reads the entries from `first` on.  first + out.size() <= entries().
  // Errors: errors of reading a chunk; bad_field if the index has another size than it had.
  [[nodiscard]] Status read(const ByteSource& source, ChunkIndex first,
                            std::span<std::int64_t> out) const;

 private:
  explicit StoredIndex(ByteRange place) : place_(place) {}
  [[nodiscard]] Result<Chunk> open_chunk(const ByteSource& source, const Limits& limits) const;

  ByteRange place_;  // the size is the most that the chunk may take
  std::uint64_t entries_ = 0;
  std::uint64_t window_entries_ = 1;
  // Nothing if the tables are large; these are read when they are needed.
  std::optional<Chunk> tables_;
};

}  // namespace framefs::codec
