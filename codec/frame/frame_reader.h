#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "codec/chunk/chunk_reader.h"
#include "codec/core/byte_source.h"
#include "codec/frame/chunk_offsets.h"
#include "codec/frame/frame.h"

namespace framefs::codec {

// Reads the decoded bytes of a frame, serially and without a block cache.  It serves tools and
// tests, and is the oracle of the parallel path.
// Threads: one at a time.  Lifetime: sources and frame outlive the reader.
class FrameReader {
 public:
  // For a contiguous frame.
  FrameReader(const ByteSource& source, const Frame& frame, const Limits& limits)
      : FrameReader(source, source, frame, limits) {}
  // For any frame.  Class Frame describes the two sources.
  FrameReader(const ByteSource& source, const ByteSource& chunks, const Frame& frame,
              const Limits& limits)
      : source_(source), chunks_(chunks), frame_(frame), limits_(limits) {}

  // Fills `out` with decoded bytes [offset, offset + out.size()).
  // Errors: truncated if the range exceeds the frame's bytes; errors of opening and reading the
  // chunks that hold the range.
  Status read(std::uint64_t offset, std::span<std::byte> out);

  // Opens a chunk: reads its header and tables.
  Result<Chunk> open_chunk(ChunkIndex chunk);

  // The memory that the reader keeps from read to read.  Units: bytes.
  [[nodiscard]] std::uint64_t memory_bytes() const noexcept;

 private:
  Result<std::int64_t> entry(ChunkIndex chunk);
  Status use_chunk(ChunkIndex chunk);

  const ByteSource& source_;
  const ByteSource& chunks_;
  const Frame& frame_;
  const Limits limits_;
  std::optional<ChunkOffsets> offsets_;
  std::optional<FetchedBlocks> fetched_;  // of a cache of remote data, from the first chunk on
  std::uint64_t window_begin_ = 0;        // first chunk of the cached index entries
  std::vector<std::int64_t> window_;
  // The last chunk read.  Held by pointer because its reader refers to it.
  struct Current {
    Current(ChunkIndex its_index, Chunk its_chunk, const ByteSource& chunks)
        : index(its_index), chunk(std::move(its_chunk)), reader(chunks, chunk) {}
    const ChunkIndex index;
    const Chunk chunk;
    ChunkReader reader;
  };
  std::unique_ptr<Current> current_;
};

}  // namespace framefs::codec
