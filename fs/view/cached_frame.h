#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "codec/frame/chunk_checksums.h"
#include "fs/core/threads/guarded.h"
#include "fs/source/frame_origin.h"
#include "fs/view/first_touch.h"
#include "fs/view/frame_chunks.h"

namespace framefs::fs {

// Logs a failure of a frame or of one of its chunks.
void log_frame_failure(Log& log, const std::string& name, const Error& error,
                       std::optional<ChunkIndex> chunk);

// Checks that the chunk has `nbytes`. `type` is the type of the frame.
// Errors: bad_field, with the place in the file.
Status check_nbytes(const codec::Chunk& chunk, std::uint64_t nbytes, codec::FrameType type);

// Returns decoded blocks of a frame's chunks, in the order of the requests; logs failures, but not
// those of groups.
Result<std::vector<BlockFetcher::Block>> fetch_blocks(const FrameOrigin& origin,
                                                      const ReadServices& services,
                                                      std::span<const BlockRequest> requests);

// One state of one frame. The mount's cache holds its index, chunk tables and blocks.
class CachedFrame final : public FrameChunks {
 public:
  // `content_id` is the CacheKey::content of this state of this file.
  CachedFrame(FrameOrigin origin, ContentId content_id, const ReadServices& services);

  [[nodiscard]] const Result<codec::Frame>& frame() const noexcept override { return frame_; }
  [[nodiscard]] const FrameOrigin& origin() const noexcept { return origin_; }
  [[nodiscard]] const ReadServices& services() const noexcept override { return services_; }

  [[nodiscard]] std::uint64_t nbytes() const override { return frame_->nbytes(); }
  [[nodiscard]] std::uint64_t chunk_count() const override { return frame_->chunk_count(); }
  Result<std::shared_ptr<const codec::ChunkOffsets>> chunk_offsets() const override;
  [[nodiscard]] Result<std::shared_ptr<const codec::FetchedBlocks>> fetched() const override;
  [[nodiscard]] bool is_far() const override { return origin_.chunks->is_far(); }
  void expect(std::span<const Touch> now, std::span<const Touch> next) const override;
  Result<std::shared_ptr<const codec::Chunk>> chunk(ChunkIndex index,
                                                    std::uint64_t nbytes) const override;
  [[nodiscard]] BlockRequest request(std::shared_ptr<const codec::Chunk> chunk, ChunkIndex index,
                                     BlockIndex block) const override {
    return {std::move(chunk), index, block, content_id_};
  }
  [[nodiscard]] std::uint64_t chunks_per_group() const override { return chunks_per_group_; }
  [[nodiscard]] bool knows_group(ChunkIndex first) const override;
  Result<BlockRequest> group_request(ChunkIndex first) const override;
  Result<std::vector<BlockFetcher::Block>> fetch(
      std::span<const BlockRequest> requests) const override {
    return fetch_blocks(origin_, services_, requests);
  }
  [[nodiscard]] bool fetch_ahead(std::span<const BlockRequest> requests) const override {
    return services_.blocks.fetch_ahead(*origin_.chunks, requests);
  }
  [[nodiscard]] BlockParts::Part fetch_part(const BlockRequest& request,
                                            ByteRange within) const override {
    return services_.blocks.parts().fetch(*origin_.chunks, request, within);
  }
  [[nodiscard]] ContentId content() const override { return content_id_; }
  [[nodiscard]] bool is_early_part(const BlockRequest& request, ByteRange within) const override {
    return services_.blocks.parts().is_early(request, within);
  }
  Status decode_parts(std::span<const BlockPart> parts, const BlockParts::Use& use) const override {
    return services_.blocks.parts().decode(*origin_.chunks, parts, use);
  }
  Status read_plain(const codec::Chunk& chunk, ChunkIndex index, std::uint64_t offset,
                    std::span<std::byte> out) const override;
  Result<std::uint64_t> find_chunk(bool hole, std::uint64_t first,
                                   std::uint64_t end) const override;
  void log_failure(const Error& error, std::optional<ChunkIndex> chunk) const override {
    log_frame_failure(services_.log, origin_.name, error, chunk);
  }

 private:
  // The frame and, if reads are verified, its checksums.
  struct Opened {
    Result<codec::Frame> frame;
    codec::FrameChecksums checksums;
  };
  static Opened open(const FrameOrigin& origin, const ReadServices& services);

  struct IndexWindow;
  Result<std::shared_ptr<const IndexWindow>> index_window(std::uint64_t window) const;
  Result<std::int64_t> index_entry(ChunkIndex chunk) const;
  [[nodiscard]] CacheKey chunk_key(ChunkIndex chunk) const {
    return {.content = content_id_, .chunk = chunk.value, .kind = CacheKind::chunk};
  }
  [[nodiscard]] CacheKey chunk_key(ChunkIndex chunk, std::int64_t entry) const;
  [[nodiscard]] std::optional<ByteRange> stored_bound(ChunkIndex chunk) const;
  void add_blocks(std::vector<ByteRange>& ranges, const codec::Chunk& chunk,
                  const Touch& touch) const;
  [[nodiscard]] std::vector<ByteRange> stored_ranges(std::span<const Touch> touches,
                                                     bool goes_on) const;

  const FrameOrigin origin_;
  const ContentId content_id_;
  const ReadServices services_;
  const Opened opened_;
  const Result<codec::Frame>& frame_ = opened_.frame;
  const std::uint64_t chunks_per_group_;
  mutable Guarded<ChunkShape> shape_;  // of the last chunk that was opened, if the frame is far
};

}  // namespace framefs::fs
