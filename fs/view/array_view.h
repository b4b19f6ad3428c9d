#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "codec/array/array_layout.h"
#include "codec/array/run_cursor.h"
#include "fs/view/array_bands.h"
#include "fs/view/array_blocks.h"
#include "fs/view/frame_chunks.h"
#include "fs/view/view.h"

namespace framefs::fs {

// The array of a frame, in C order: assembled from n-dimensional blocks, with or without a NumPy
// header.
class ArrayView final : public View {
 public:
  enum class Header : std::uint8_t { none, npy };
  // `cache_bytes` is the budget of the cache through which the frame is read.
  ArrayView(std::shared_ptr<const FrameChunks> frame, Header header, std::uint64_t cache_bytes);

  [[nodiscard]] bool is_readable() const noexcept override { return array_.has_value(); }
  [[nodiscard]] std::uint64_t decoded_bytes() const noexcept override {
    return is_readable() ? header().size() + array_bytes() : 0;
  }
  [[nodiscard]] Result<ReadResult> read(std::uint64_t offset, std::uint64_t size,
                                        Access access) const override;
  void expect(ByteRange now, std::span<const ByteRange> next) const override;
  [[nodiscard]] ArrayGrid grid() const override {
    return is_readable() ? ArrayGrid::of(header().size(), array_->layout) : ArrayGrid();
  }
  [[nodiscard]] bool decode_ahead(ByteRange range) const override;
  // The bytes before the array's bytes, and the number of the array's bytes. Only for a readable
  // view: see is_readable().
  [[nodiscard]] std::span<const std::byte> header() const noexcept {
    return std::as_bytes(std::span(array_->header));
  }
  [[nodiscard]] std::uint64_t array_bytes() const noexcept { return array_->layout.nbytes(); }
  // Calls body(place, within, size) for each contiguous piece of a range of the array's bytes.
  // `place` is the offset in the frame's decoded bytes; `within` is the offset in the range.
  template <class Body>
  void for_each_piece(ByteRange range, Body&& body) const {
    const auto& layout = array_->layout;
    const std::uint64_t chunksize = frame_->frame()->header().chunksize;
    codec::RunCursor runs(layout, range);
    while (runs.next()) {
      const auto& run = runs.run();
      const auto place =
          run.chunk.value * chunksize + run.block.value * layout.block_bytes() + run.within;
      body(place, run.offset - range.offset, run.size);
    }
  }
  [[nodiscard]] Result<std::uint64_t> seek(Seek what, std::uint64_t offset) const override;

 private:
  struct Array {
    codec::ArrayLayout layout;
    std::string header;
  };
  static Result<Array> open(const FrameChunks& frame, Header header);

  Status fill(ReadResult& result, ByteRange range, std::span<std::byte> out, Access access) const;
  class Touches;
  [[nodiscard]] ByteRange within_array(ByteRange shown) const;
  Status fill_batch(ReadResult& result, std::span<const ArrayBlocks::Block> blocks, ByteRange range,
                    std::span<std::byte> out, Access access) const;
  Status fetch_batch(ReadResult& result, ArrayBlocks::Batch& batch, Access access) const;
  [[nodiscard]] bool is_kept(ArrayBlocks::Block block) const noexcept;

  const std::shared_ptr<const FrameChunks> frame_;
  const Result<Array> array_;
  const std::uint64_t batch_bytes_;     // limit of the blocks that a read pins at a time
  const std::uint32_t kept_per_mille_;  // of the blocks; kept while a reader reads the whole array
  const std::unique_ptr<const ArrayBlocks> blocks_;  // null if not readable
  const std::unique_ptr<const ArrayBands> bands_;    // null: there is no need for parts of bands
};

}  // namespace framefs::fs
