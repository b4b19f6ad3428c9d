#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "codec/chunk/chunk_update.h"
#include "fs/view/cached_frame.h"
#include "fs/view/frame_chunks.h"
#include "fs/write/overlay/chunk_overlay.h"
#include "fs/write/overlay/stored_checksums.h"

namespace framefs::fs {

using codec::ChunkUpdate;

// A frame that is being written, as views read it: layers of written bytes above the stored chunks.
// A chunk with such layers looks like a chunk that is stored as plain bytes.
// Threads: any number, while no writer changes the overlay: see FrameWriteSession::reading().
// Lifetime: the overlay outlives it.
class OverlayFrame final : public FrameChunks {
 public:
  // `frame` is the frame as it was opened for writing.
  OverlayFrame(FrameOrigin origin, codec::Frame frame, const ReadServices& services,
               const ChunkOverlay& overlay, std::shared_ptr<const StoredChecksums> checksums)
      : origin_(std::move(origin)),
        frame_(std::move(frame)),
        services_(services),
        overlay_(overlay),
        checksums_(std::move(checksums)) {}

  [[nodiscard]] const Result<codec::Frame>& frame() const noexcept override { return frame_; }
  [[nodiscard]] const ReadServices& services() const noexcept override { return services_; }
  [[nodiscard]] const FrameOrigin& origin() const noexcept { return origin_; }

  [[nodiscard]] std::uint64_t nbytes() const override { return overlay_.nbytes(); }
  [[nodiscard]] std::uint64_t chunk_count() const override { return overlay_.chunk_count(); }
  [[nodiscard]] Result<std::shared_ptr<const codec::ChunkOffsets>> chunk_offsets() const override;
  [[nodiscard]] Result<std::shared_ptr<const codec::Chunk>> chunk(
      ChunkIndex index, std::uint64_t nbytes) const override;
  [[nodiscard]] BlockRequest request(std::shared_ptr<const codec::Chunk> chunk, ChunkIndex index,
                                     BlockIndex block) const override {
    return {std::move(chunk), index, block, overlay_.content_id(index.value)};
  }
  [[nodiscard]] Result<std::vector<BlockFetcher::Block>> fetch(
      std::span<const BlockRequest> requests) const override {
    return fetch_blocks(origin_, services_, requests);
  }
  [[nodiscard]] Status read_plain(const codec::Chunk& chunk, ChunkIndex index, std::uint64_t offset,
                                  std::span<std::byte> out) const override;
  [[nodiscard]] Result<std::uint64_t> find_chunk(bool hole, std::uint64_t first,
                                                 std::uint64_t end) const override;
  void log_failure(const Error& error, std::optional<ChunkIndex> chunk) const override {
    log_frame_failure(services_.log, origin_.name, error, chunk);
  }

  // A frozen chunk, and the stored chunk below it.
  struct Storing {
    const ChunkOverlay::Frozen& frozen;
    std::shared_ptr<const codec::Chunk> stored;  // null if no byte of it is needed
    ContentId content;                           // of the stored chunk
    BlockFetcher::Block first;  // of the stored chunk, if its other blocks cannot do without
  };
  // To be called once for each frozen chunk, before the functions below.  These may then be called
  // while writers change the overlay: the stored chunk stays where it is until the frozen one has
  // landed.
  [[nodiscard]] Result<Storing> begin_storing(const ChunkOverlay::Frozen& frozen) const;
  // Makes `out` the bytes of the chunk from `offset` on: those that were written, and those stored
  // below.  If `out` is the chunk's own memory, the written bytes are there already.
  [[nodiscard]] Status complete(const Storing& chunk, std::uint32_t offset,
                                std::span<std::byte> out) const;
  // Plans how to store a frozen chunk without encoding the blocks that were not written.  Returns
  // nothing if all of the chunk has to be encoded.
  [[nodiscard]] Result<std::optional<ChunkUpdate>> plan_update(
      const Storing& chunk, const codec::EncodeParams& params) const;

 private:
  [[nodiscard]] Result<std::shared_ptr<const codec::Chunk>> stored_chunk(ChunkIndex index) const;
  [[nodiscard]] Status verify_stored(ChunkIndex index) const;
  [[nodiscard]] Status read_stored(ChunkIndex index, std::uint64_t offset,
                                   std::span<std::byte> out) const;
  [[nodiscard]] Status check_holds(const codec::Chunk& chunk, ChunkIndex index,
                                   std::uint64_t end) const;
  [[nodiscard]] Result<BlockFetcher::Block> stored_block(const Storing& chunk,
                                                         BlockIndex block) const;
  class StoredBytes;
  [[nodiscard]] Status read_blocks(const std::shared_ptr<const codec::Chunk>& chunk,
                                   ChunkIndex index, std::uint64_t offset,
                                   std::span<std::byte> out) const;
  // Reads through `layer`.  Where it was not written, `below` reads the first base_bytes() bytes.
  template <class Below>
  Status read_layer(const DirtyChunk& layer, std::uint64_t offset, std::span<std::byte> out,
                    const Below& below) const;

  const FrameOrigin origin_;
  const Result<codec::Frame> frame_;
  const ReadServices services_;
  const ChunkOverlay& overlay_;
  const std::shared_ptr<const StoredChecksums> checksums_;
};

}  // namespace framefs::fs
