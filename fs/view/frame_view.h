#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "fs/view/frame_chunks.h"
#include "fs/view/view.h"

namespace framefs::fs {

// The decoded bytes of a frame, chunk by chunk.
class FrameView final : public View {
 public:
  explicit FrameView(std::shared_ptr<const FrameChunks> frame) : frame_(std::move(frame)) {}

  [[nodiscard]] bool is_readable() const noexcept override { return frame_->frame().has_value(); }
  [[nodiscard]] std::uint64_t decoded_bytes() const noexcept override {
    return is_readable() ? frame_->nbytes() : 0;
  }
  [[nodiscard]] Result<ReadResult> read(std::uint64_t offset, std::uint64_t size,
                                        Access access) const override;
  void expect(ByteRange now, std::span<const ByteRange> next) const override;
  [[nodiscard]] bool decode_ahead(ByteRange range) const override;
  // A hole is a chunk that is zero according to the index.
  [[nodiscard]] Result<std::uint64_t> seek(Seek what, std::uint64_t offset) const override;

 private:
  struct Plan;
  template <class Body>
  Status for_each_chunk(ByteRange wanted, const Body& body) const;
  [[nodiscard]] Result<Plan> read_some(ByteRange wanted) const;
  // Groups of small chunks: see FrameChunks::chunks_per_group().
  template <class Body>
  Status for_each_group(ByteRange wanted, const Body& body) const;
  [[nodiscard]] bool is_worth_groups(ByteRange wanted) const;
  [[nodiscard]] Result<Plan> read_groups(ByteRange wanted) const;
  [[nodiscard]] bool groups_ahead(ByteRange range) const;
  [[nodiscard]] std::vector<FrameChunks::Touch> touches(ByteRange range, std::size_t max) const;
  // Announces the chunks of a read to a frame that lies far away.
  void expect_chunks(ByteRange wanted) const;
  [[nodiscard]] Result<ReadResult> read_joined(ByteRange wanted, Plan first) const;
  Status plan_chunk(Plan& plan, const codec::ChunkOffsets::Place& place, ByteRange wanted) const;
  Status plan_without_decoding(Plan& plan, const codec::Chunk& chunk, ChunkIndex index,
                               ByteRange wanted) const;
  // `wanted` is the range that was planned.
  Status fill_gaps(Plan& plan, ByteRange wanted) const;
  Status fetch_gaps(Plan& plan) const;

  const std::shared_ptr<const FrameChunks> frame_;
};

}  // namespace framefs::fs
