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

// Where the chunks of a frame lie in its decoded bytes.  For most frames that is arithmetic; where
// chunks vary in size, each chunk's header has to be read once.
// Immutable after its making; any number of threads may use it.
class ChunkOffsets {
 public:
  // Index entries, from wherever the caller keeps them.
  using EntryOf = std::function<Result<std::int64_t>(ChunkIndex)>;

  // Errors: over_limit where the table would exceed limits.chunk_table_bytes; those of `entry_of`.
  // A chunk whose header cannot be read ends what is known: find() reports it for all later bytes.
  static Result<ChunkOffsets> make(const Frame& frame, const ByteSource& chunks,
                                   const EntryOf& entry_of, const Limits& limits);

  // Of chunks that all have `chunksize` (not 0) but for the last.
  static ChunkOffsets of_equal(std::uint32_t chunksize, std::uint64_t nbytes);

  struct Place {
    ChunkIndex chunk;
    ByteRange range;  // of the chunk in the frame's decoded bytes
  };
  // The chunk that holds decoded byte `offset`, which is < frame.nbytes().
  [[nodiscard]] Result<Place> find(std::uint64_t offset) const;

  [[nodiscard]] std::uint64_t memory_bytes() const noexcept {
    return sizeof(*this) + offsets_.capacity() * sizeof(offsets_[0]);
  }

 private:
  std::uint64_t chunksize_ = 0;         // where all chunks but the last have this size; else 0
  std::uint64_t nbytes_ = 0;            // of the frame
  std::vector<std::uint64_t> offsets_;  // where chunks vary: of each chunk, and the end of the last
  std::optional<Error> damage_;         // why offsets_ ends early
};

}  // namespace framefs::codec
