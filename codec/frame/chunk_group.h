#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "codec/chunk/block_decoder.h"
#include "codec/core/byte_source.h"
#include "codec/core/limits.h"
#include "codec/core/scratch.h"
#include "codec/core/units.h"
#include "codec/frame/chunk_checksums.h"
#include "codec/frame/frame.h"

namespace framefs::codec {

// Neighbouring small chunks of a contiguous frame, which are read and decoded together.  To open a
// chunk costs far more than to decode a few hundred bytes, unless one read brings many chunks.
// Immutable; any number of threads may use it.  Lifetime: frame and limits outlive the group.
class ChunkGroup {
 public:
  // The number of chunks in each group of a frame: chunks [n * i, n * (i + 1)) form group i.  0 if
  // the frame has no groups, because its chunks are large, vary in size, or lie in several files.
  [[nodiscard]] static std::uint64_t chunks_per_group(const Frame& frame) noexcept;
  // The largest value of chunks_per_group().
  static constexpr std::uint64_t kMaxChunks = 1024;

  // `entries` are the index entries of the chunks from `first` on; there is at least one.
  // `checksums` has one for each of them, or none if they are not to be verified.
  ChunkGroup(const Frame& frame, const Limits& limits, ChunkIndex first,
             std::vector<std::int64_t> entries, std::vector<ChunkChecksum> checksums = {});

  // The decoded size of all chunks.
  [[nodiscard]] std::uint64_t nbytes() const noexcept { return nbytes_; }
  // Whether the index alone shows that all bytes are zero.
  [[nodiscard]] bool is_zero() const noexcept;
  // A range of the frame's chunks that is worth reading at once.  In most frames it holds all
  // chunks of the group; chunks that were written later may lie elsewhere.  Its size is bounded by
  // a small multiple of the decoded size, whatever the entries are.
  [[nodiscard]] ByteRange stored() const noexcept { return stored_; }

  // Decodes all chunks into `out`, which has nbytes().  `stored` holds the bytes of stored(); the
  // decoder reads others from `chunks`, by way of `spare`.
  // Errors: those of verifying, opening and decoding; the content of `out` is then undefined.
  Status decode(const ByteSource& chunks, std::span<const std::byte> stored, BlockDecoder& decoder,
                Scratch& spare, std::span<std::byte> out) const;

 private:
  [[nodiscard]] ByteRange find_stored() const noexcept;

  const Frame& frame_;
  const Limits& limits_;
  const ChunkIndex first_;
  const std::vector<std::int64_t> entries_;
  const std::vector<ChunkChecksum> checksums_;
  const std::uint64_t nbytes_;
  const ByteRange stored_;
};

}  // namespace framefs::codec
