#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "codec/core/byte_source.h"
#include "codec/core/limits.h"
#include "codec/core/result.h"
#include "codec/core/units.h"
#include "codec/frame/frame.h"

namespace framefs::codec {

// The position of each chunk in a frame's decoded bytes.  For most frames, positions are computed.
// If the chunks vary in size, make() reads the header of each chunk once.
// Immutable after construction; any number of threads may use it.
class ChunkOffsets {
 public:
  // Returns the index entry of a chunk, from wherever the caller keeps it.
  using EntryOf = std::function<Result<std::int64_t>(ChunkIndex)>;

  // Errors: over_limit if the table would exceed limits.chunk_sizes_bytes; errors of `entry_of`.
  // If the header of a chunk cannot be read, make() succeeds, and find() reports that error for the
  // chunk and all bytes after it.
  static Result<ChunkOffsets> make(const Frame& frame, const ByteSource& chunks,
                                   const EntryOf& entry_of, const Limits& limits);

  // For chunks that all have `chunksize` bytes (not 0), except the last.
  static ChunkOffsets of_equal(std::uint32_t chunksize, std::uint64_t nbytes);

  struct Place {
    ChunkIndex chunk;
    ByteRange range;  // of the frame's decoded bytes
  };
  // The chunk that holds decoded byte `offset`, which is < frame.nbytes().
  [[nodiscard]] Result<Place> find(std::uint64_t offset) const;

  [[nodiscard]] std::uint64_t memory_bytes() const noexcept {
    return sizeof(*this) + sizes_.capacity() * sizeof(sizes_[0]) +
           offsets_.capacity() * sizeof(offsets_[0]);
  }

 private:
  // Every chunk of this number has its offset in the table, which is half as long as one with the
  // offsets of all.
  static constexpr std::size_t kStride = 64;

  std::uint64_t chunksize_ = 0;  // the size of all chunks but the last; 0 if chunks vary
  std::uint64_t nbytes_ = 0;     // of the frame; up to the damage, if there is one
  // If chunks vary.
  std::vector<std::uint32_t> sizes_;    // of each chunk
  std::vector<std::uint64_t> offsets_;  // of the chunks 0, kStride, 2 * kStride, ...
  Status damage_;                       // an error: why sizes_ is incomplete
};

}  // namespace framefs::codec
