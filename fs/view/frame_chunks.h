#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "codec/frame/chunk_offsets.h"
#include "codec/frame/frame.h"
#include "fs/core/file.h"
#include "fs/core/log.h"
#include "fs/read/block_fetcher.h"
#include "fs/read/decode_cache.h"
#include "fs/read/read_result.h"

namespace framefs::fs {

// What all views of a mount share.  Lifetime: all of it outlives every view.
struct ReadServices {
  const codec::Limits& limits;
  BufferPool& buffers;
  DecodeCache& cache;
  BlockFetcher& blocks;
  Log& log;
};

// The chunks of one frame, as views read them: of a frame at rest (CachedFrame), or of one that is
// being written (OverlayFrame).
// Threads: any number.
class FrameChunks {
 public:
  FrameChunks() = default;
  FrameChunks(const FrameChunks&) = delete;
  FrameChunks& operator=(const FrameChunks&) = delete;
  virtual ~FrameChunks() = default;

  // The frame as it is stored, or why it cannot be opened.
  [[nodiscard]] virtual const Result<codec::Frame>& frame() const noexcept = 0;
  [[nodiscard]] virtual const ReadServices& services() const noexcept = 0;

  // The members below want a frame that could be opened.  What they return an error for is logged.

  // The decoded size of all chunks as they are now, and how many there are.
  [[nodiscard]] virtual std::uint64_t nbytes() const = 0;
  [[nodiscard]] virtual std::uint64_t chunk_count() const = 0;
  // Where chunks lie in the frame's decoded bytes.
  virtual Result<std::shared_ptr<const codec::ChunkOffsets>> chunk_offsets() const = 0;
  // The chunk's header and tables; it must have `nbytes`.
  virtual Result<std::shared_ptr<const codec::Chunk>> chunk(ChunkIndex index,
                                                            std::uint64_t nbytes) const = 0;
  // What fetch() is to be asked for to have a block of a chunk that chunk() has returned.
  [[nodiscard]] virtual BlockRequest request(std::shared_ptr<const codec::Chunk> chunk,
                                             ChunkIndex index, BlockIndex block) const = 0;
  // Decoded blocks, in the order of the requests.
  virtual Result<std::vector<BlockFetcher::Block>> fetch(
      std::span<const BlockRequest> requests) const = 0;
  // Brings blocks into the cache, as BlockFetcher::fetch_ahead(); never those of a frame that changes.
  [[nodiscard]] virtual bool fetch_ahead(std::span<const BlockRequest> /*requests*/) const {
    return false;
  }
  // Bytes `within` of a block, where they are better had without the others; null where not.
  [[nodiscard]] virtual BlockFetcher::Block fetch_part(const BlockRequest& /*request*/,
                                                       ByteRange /*within*/) const {
    return nullptr;
  }
  // Bytes that a chunk holds undecoded.
  virtual Status read_plain(const codec::Chunk& chunk, ChunkIndex index, std::uint64_t offset,
                            std::span<std::byte> out) const = 0;

  // The first of the chunks [first, end) that is a hole, or that is none; `end` where there is no such.
  virtual Result<std::uint64_t> find_chunk(bool hole, std::uint64_t first,
                                           std::uint64_t end) const = 0;

  virtual void log_failure(const Error& error, std::optional<ChunkIndex> chunk) const = 0;

  // Lets go of the block with `served`.
  void release_with(ServedBlocks& served, const BlockRequest& request) const {
    served.add(services().cache, BlockFetcher::key_of(request));
  }
};

}  // namespace framefs::fs
