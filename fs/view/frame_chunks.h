#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "codec/frame/chunk_offsets.h"
#include "codec/frame/frame.h"
#include "fs/core/diagnostics/log.h"
#include "fs/core/files/file.h"
#include "fs/read/block_fetcher.h"
#include "fs/read/decode_cache.h"
#include "fs/read/read_result.h"

namespace framefs::fs {

// The objects that all views of a mount share. Lifetime: all of them outlive every view.
struct ReadServices {
  const codec::Limits& limits;
  BufferPool& buffers;
  DecodeCache& cache;
  BlockFetcher& blocks;
  Log& log;
  bool verify_checksums = false;  // of frames that have them, for each chunk that is read
};

// The tables of the chunks that a read needs until it has decoded its blocks.  The cache cannot
// evict them meanwhile, and a dictionary takes more memory than a small block: a read that needs
// many tables is done in parts.
class HeldTables {
 public:
  // Chunks that follow each other are often the same.
  void add(const codec::Chunk& chunk) {
    if (std::exchange(last_, &chunk) != &chunk) bytes_ += chunk.memory_bytes();
  }
  [[nodiscard]] bool is_full() const noexcept { return bytes_ >= kMaxBytes; }

 private:
  static constexpr std::uint64_t kMaxBytes = 4u << 20;
  const codec::Chunk* last_ = nullptr;
  std::uint64_t bytes_ = 0;
};

// The chunks of one frame, as views read them. CachedFrame is a frame that does not change;
// OverlayFrame is one that is being written.
// Threads: any number.
class FrameChunks {
 public:
  FrameChunks() = default;
  FrameChunks(const FrameChunks&) = delete;
  FrameChunks& operator=(const FrameChunks&) = delete;
  virtual ~FrameChunks() = default;

  // The frame as it is stored, or the error that prevented opening it.
  [[nodiscard]] virtual const Result<codec::Frame>& frame() const noexcept = 0;
  [[nodiscard]] virtual const ReadServices& services() const noexcept = 0;

  // The members below require a frame that could be opened. They log each error that they return.

  // The decoded size of all chunks and their number, as they are now.
  [[nodiscard]] virtual std::uint64_t nbytes() const = 0;
  [[nodiscard]] virtual std::uint64_t chunk_count() const = 0;
  // The offsets of the chunks in the frame's decoded bytes.
  [[nodiscard]] virtual Result<std::shared_ptr<const codec::ChunkOffsets>> chunk_offsets()
      const = 0;
  // A range of a chunk's decoded bytes.
  struct Touch {
    ChunkIndex chunk;
    std::uint64_t nbytes = 0;  // of the chunk
    ByteRange within;
  };
  // Whether expect() shortens the reads that follow it.
  [[nodiscard]] virtual bool is_far() const { return false; }
  // Says that the ranges of `now` are about to be read, and then probably those of `next`, in this
  // order. A frame that lies far away then fetches their blocks; of chunks that were not read
  // before, the tables and the probable places of the blocks.
  virtual void expect(std::span<const Touch> /*now*/, std::span<const Touch> /*next*/) const {}
  // The chunk's header and tables; the chunk must have `nbytes`.
  [[nodiscard]] virtual Result<std::shared_ptr<const codec::Chunk>> chunk(
      ChunkIndex index, std::uint64_t nbytes) const = 0;
  // The request that fetch() needs for a block of a chunk from chunk().
  [[nodiscard]] virtual BlockRequest request(std::shared_ptr<const codec::Chunk> chunk,
                                             ChunkIndex index, BlockIndex block) const = 0;
  // The number of chunks that can be requested together, at a multiple of this number; 0 if each
  // must be requested by itself.
  [[nodiscard]] virtual std::uint64_t chunks_per_group() const { return 0; }
  // Whether the group of chunks from `first` on is decoded already or being decoded.
  [[nodiscard]] virtual bool knows_group(ChunkIndex /*first*/) const { return false; }
  // The request for the group of chunks from `first` on.  It is valid as long as this object.
  [[nodiscard]] virtual Result<BlockRequest> group_request(ChunkIndex first) const {
    return codec::fail(codec::Errc::internal, "group of chunks", first.value);
  }
  // Returns decoded blocks, in the order of the requests.  If one of them is a group, errors are
  // not logged: the caller then reads the chunks one by one.
  [[nodiscard]] virtual Result<std::vector<BlockFetcher::Block>> fetch(
      std::span<const BlockRequest> requests) const = 0;
  // Decodes blocks into the cache, as BlockFetcher::fetch_ahead(); does nothing for a frame that
  // changes.
  [[nodiscard]] virtual bool fetch_ahead(std::span<const BlockRequest> /*requests*/) const {
    return false;
  }
  // The bytes `within` of a block, if it is better to decode them without the rest.  A frame that
  // changes has no parts and no hot blocks.
  [[nodiscard]] virtual BlockParts::Part fetch_part(const BlockRequest& /*request*/,
                                                    ByteRange /*within*/) const {
    return {};
  }
  // The content id of all chunks; empty if each chunk has its own, because the frame changes.
  [[nodiscard]] virtual ContentId content() const { return {}; }
  // Whether a part of a block can be decoded without the rest: not of a frame that changes, whose
  // parts nobody could keep, or of one that is far, of which whole blocks are fetched.
  [[nodiscard]] bool has_parts() const { return content() && !is_far(); }
  // BlockParts::is_early(), for a frame that has_parts().
  [[nodiscard]] virtual bool is_early_part(const BlockRequest& /*request*/,
                                           ByteRange /*within*/) const {
    return false;
  }
  // BlockParts::decode(), for a frame that has_parts().  Errors are not logged.
  [[nodiscard]] virtual Status decode_parts(std::span<const BlockPart> /*parts*/,
                                            const BlockParts::Use& /*use*/) const {
    return codec::fail(codec::Errc::internal, "parts of blocks");
  }
  // Reads bytes that the chunk stores uncompressed.
  [[nodiscard]] virtual Status read_plain(const codec::Chunk& chunk, ChunkIndex index,
                                          std::uint64_t offset, std::span<std::byte> out) const = 0;

  // The first chunk in [first, end) that is a hole (or, if `hole` is false, that is not a hole);
  // `end` if no chunk matches.
  [[nodiscard]] virtual Result<std::uint64_t> find_chunk(bool hole, std::uint64_t first,
                                                         std::uint64_t end) const = 0;

  virtual void log_failure(const Error& error, std::optional<ChunkIndex> chunk) const = 0;

  // For a cache of remote data, the record of the blocks that are there; null for other frames.
  [[nodiscard]] virtual Result<std::shared_ptr<const codec::FetchedBlocks>> fetched() const {
    return nullptr;
  }
  // codec::DataPlace::check_fetched().
  [[nodiscard]] Status check_fetched(ChunkIndex index, const codec::Chunk& chunk,
                                     ByteRange within) const {
    if (!frame()->data_place().is_remote_cache()) return {};
    const auto record = fetched();
    const auto checked = record
                             ? frame()->data_place().check_fetched(**record, index, chunk, within)
                             : Status(std::unexpected(record.error()));
    if (!checked) log_failure(checked.error(), index);
    return checked;
  }
  // Makes the block leave the cache when `served` is destroyed.
  void release_with(ServedBlocks& served, const BlockRequest& request) const {
    served.add(services().cache, request.key());
  }
  // The block, without its bytes, for the kernel's page cache.  `offset` is its place in the shown
  // file.
  [[nodiscard]] HotBlock hot_block(const BlockRequest& request, std::uint64_t offset) const {
    return {.key = request.key(), .offset = offset, .bytes = nullptr, .cache = &services().cache};
  }
};

}  // namespace framefs::fs
