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

// Reads the decoded bytes of a frame, serially and without a cache of blocks: for tools and tests,
// and as the oracle of the parallel path.
// Threads: one at a time.  Lifetime: sources and frame outlive it.
class FrameReader {
 public:
  // Of a contiguous frame.
  FrameReader(const ByteSource& source, const Frame& frame, const Limits& limits)
      : FrameReader(source, source, frame, limits) {}
  // Of any frame; see Frame for the two sources.
  FrameReader(const ByteSource& source, const ByteSource& chunks, const Frame& frame,
              const Limits& limits)
      : source_(source), chunks_(chunks), frame_(frame), limits_(limits) {}

  // Fills `out` with decoded bytes [offset, offset + out.size()).
  // Errors: truncated where the range passes the end of the frame's bytes; those of opening and
  // reading the chunks it touches.
  Status read(std::uint64_t offset, std::span<std::byte> out);

  // The chunk's header and tables.
  Result<Chunk> open_chunk(ChunkIndex chunk);

 private:
  Result<std::int64_t> entry(ChunkIndex chunk);
  Status use_chunk(ChunkIndex chunk);

  const ByteSource& source_;
  const ByteSource& chunks_;
  const Frame& frame_;
  const Limits limits_;
  std::optional<ChunkOffsets> offsets_;
  std::uint64_t window_begin_ = 0;  // the index entries that are held
  std::vector<std::int64_t> window_;
  // The chunk read last; held by pointer because its reader refers to it.
  struct Current {
    ChunkIndex index;
    Chunk chunk;
    std::optional<ChunkReader> reader;
  };
  std::unique_ptr<Current> current_;
};

}  // namespace framefs::codec
