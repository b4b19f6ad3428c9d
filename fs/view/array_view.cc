#include "fs/view/array_view.h"

#include <algorithm>
#include <cerrno>
#include <optional>
#include <unordered_set>
#include <utility>

#include "codec/array/npy_header.h"
#include "codec/array/touched_blocks.h"
#include "codec/frame/frame_array.h"
#include "fs/view/array_holes.h"

namespace framefs::fs {
namespace {

// Shares of the cache's budget.  The first is for the blocks that one read pins at a time.  The
// second is for the blocks that a reader of the whole array needs again.
constexpr std::uint64_t kBatchShare = 4;
constexpr std::uint64_t kBandShare = 2;

constexpr std::uint32_t kMille = 1000;

std::uint32_t per_mille(std::uint64_t part, std::uint64_t whole) {
  if (part >= whole) return kMille;
  return static_cast<std::uint32_t>(part / std::max<std::uint64_t>(whole / kMille, 1));
}

}  // namespace

Result<ArrayView::Array> ArrayView::open(const FrameChunks& cached, Header header) {
  const auto& frame = cached.frame();
  if (!frame) return std::unexpected(frame.error());
  const auto made = [&]() -> Result<Array> {
    const auto& meta = frame->array();
    if (!meta) return codec::fail(Errc::bad_field, "array metalayer");
    if (!*meta) return std::unexpected(meta->error());
    FRAMEFS_TRY(auto layout, codec::layout_of(**meta, frame->header()));
    if (header == Header::none) return Array{layout, {}};
    return Array{layout, codec::npy_header(**meta, frame->header().typesize)};
  }();
  if (!made) cached.log_failure(made.error(), std::nullopt);
  return made;
}

ArrayView::ArrayView(std::shared_ptr<const FrameChunks> frame, Header header,
                     std::uint64_t cache_bytes)
    : frame_(std::move(frame)),
      array_(open(*frame_, header)),
      batch_bytes_(cache_bytes / kBatchShare),
      kept_per_mille_(
          array_ ? per_mille(cache_bytes / kBandShare, BandParts::band_bytes(array_->layout)) : 0),
      blocks_(array_ ? std::make_unique<const ArrayBlocks>(*frame_, array_->layout) : nullptr),
      bands_(blocks_ && kept_per_mille_ < kMille ? ArrayBands::make(*blocks_, cache_bytes)
                                                 : nullptr) {}

Result<ReadResult> ArrayView::read(std::uint64_t offset, std::uint64_t size, Access access) const {
  if (!array_) return std::unexpected(array_.error());
  const auto& [layout, header] = *array_;
  const std::uint64_t end = header.size() + layout.nbytes();
  ReadResult result;
  if (offset >= end) return result;
  size = std::min(size, end - offset);
  if (offset < header.size()) {
    const auto part = std::as_bytes(std::span(header)).subspan(offset);
    const auto head = part.first(std::min<std::uint64_t>(part.size(), size));
    auto copy = std::make_shared<Bytes>(frame_->services().buffers, head.size());
    std::ranges::copy(head, copy->writable().begin());
    result.spans.push_back(copy->view());
    result.owners.push_back(std::move(copy));
    offset += head.size();
    size -= head.size();
  }
  if (size == 0) return result;
  const ByteRange range{offset - header.size(), size};
  const bool by_bands = bands_ && access == Access::streaming;
  if (by_bands) {
    FRAMEFS_TRY(const bool is_answered, bands_->answer(result, range));
    if (is_answered) return result;
  }
  auto bytes = std::make_shared<Bytes>(frame_->services().buffers, size);
  if (by_bands) {
    FRAMEFS_CHECK(bands_->fill(range, bytes->writable(), [&](ByteRange some, auto out) {
      return fill(result, some, out, access);
    }));
  } else {
    FRAMEFS_CHECK(fill(result, range, bytes->writable(), access));
  }
  result.spans.push_back(bytes->view());
  result.owners.push_back(std::move(bytes));
  return result;
}

// The touched blocks of ranges, each once.
class ArrayView::Touches {
 public:
  Touches(const codec::ArrayLayout& layout, std::uint64_t chunk_bytes)
      : layout_(layout), chunk_bytes_(chunk_bytes) {}

  void add(ByteRange range, std::vector<FrameChunks::Touch>& touches) {
    codec::TouchedBlocks(layout_, range).for_each([&](ChunkIndex chunk, BlockIndex block) {
      const auto number = chunk.value * layout_.blocks_per_chunk() + block.value;
      if (seen_.size() == ArrayBlocks::kMaxAtOnce || !seen_.insert(number).second) return;
      const auto size = layout_.block_bytes();
      const ByteRange within{block.value * size, size};
      if (!touches.empty() && touches.back().chunk == chunk &&
          touches.back().within.offset + touches.back().within.size == within.offset) {
        touches.back().within.size += size;
      } else {
        touches.push_back({chunk, chunk_bytes_, within});
      }
    });
  }

 private:
  const codec::ArrayLayout& layout_;
  const std::uint64_t chunk_bytes_;
  std::unordered_set<std::uint64_t> seen_;
};

// The part of a range of the file that the array is.
ByteRange ArrayView::within_array(ByteRange shown) const {
  const auto skip = header().size();
  const auto end = std::min(shown.offset + shown.size, skip + array_bytes());
  const auto begin = std::min(std::max<std::uint64_t>(shown.offset, skip), end);
  return {begin - std::min<std::uint64_t>(begin, skip), end - begin};
}

void ArrayView::expect(ByteRange now, std::span<const ByteRange> next) const {
  if (!array_ || !frame_->is_far()) return;
  Touches touched(array_->layout, frame_->frame()->header().chunksize);
  std::vector<FrameChunks::Touch> now_touches;
  std::vector<FrameChunks::Touch> next_touches;
  touched.add(within_array(now), now_touches);
  for (const auto& range : next) touched.add(within_array(range), next_touches);
  frame_->expect(now_touches, next_touches);
}

bool ArrayView::decode_ahead(ByteRange range) const {
  // If the cache cannot keep a whole band, read-ahead would evict blocks that are needed again.
  if (!array_ || kept_per_mille_ < kMille) return false;
  const auto& [layout, header] = *array_;
  const auto end = decoded_bytes();
  if (range.offset >= end) return false;
  const auto stop = range.offset + std::min(range.size, end - range.offset);
  const auto begin = std::max<std::uint64_t>(range.offset, header.size());
  if (begin >= stop) return true;
  std::vector<ArrayBlocks::Block> touched;
  codec::TouchedBlocks(layout, {begin - header.size(), stop - begin})
      .for_each([&](ChunkIndex index, BlockIndex block) {
        if (touched.size() <= ArrayBlocks::kMaxAtOnce) touched.push_back({index, block});
      });
  if (touched.size() > ArrayBlocks::kMaxAtOnce) return false;
  expect(range, {});
  std::vector<BlockRequest> requests;
  HeldTables tables;
  ArrayBlocks::OpenedChunk opened;
  for (const auto& [index, block] : touched) {
    if (!blocks_->open_chunk(index, opened)) return false;
    tables.add(*opened.chunk);
    if (tables.is_full()) return false;
    if (opened.chunk->body() != codec::ChunkBody::blocks) continue;
    requests.push_back(blocks_->request(opened.chunk, {index, block}));
  }
  return frame_->fetch_ahead(requests);
}

// Splits the range until each batch needs no more blocks than a read may pin.
Status ArrayView::fill(ReadResult& result, ByteRange range, std::span<std::byte> out,
                       Access access) const {
  const auto& layout = array_->layout;
  const std::uint64_t most =
      std::clamp<std::uint64_t>(batch_bytes_ / layout.block_bytes(), 1, ArrayBlocks::kMaxAtOnce);
  std::vector<ArrayBlocks::Block> blocks;
  bool too_many = false;
  codec::TouchedBlocks(layout, range).for_each([&](ChunkIndex chunk, BlockIndex block) {
    too_many = too_many || blocks.size() == most;
    if (!too_many) blocks.push_back({chunk, block});
  });
  if (!too_many) return fill_batch(result, blocks, range, out, access);
  const std::uint64_t half = range.size / 2;
  FRAMEFS_CHECK(fill(result, {range.offset, half}, out.first(half), access));
  return fill(result, {range.offset + half, range.size - half}, out.subspan(half), access);
}

Status ArrayView::fill_batch(ReadResult& result, std::span<const ArrayBlocks::Block> blocks,
                             ByteRange range, std::span<std::byte> out, Access access) const {
  ArrayBlocks::Batch batch{.range = range, .out = out};
  for (const auto& block : blocks) {
    FRAMEFS_CHECK(blocks_->plan(batch, block));
    if (batch.tables.is_full()) FRAMEFS_CHECK(fetch_batch(result, batch, access));
  }
  return fetch_batch(result, batch, access);
}

Status ArrayView::fetch_batch(ReadResult& result, ArrayBlocks::Batch& batch, Access access) const {
  // A reader that streams comes back to each block soon.
  if (access != Access::streaming) FRAMEFS_CHECK(blocks_->take_early_parts(batch));
  if (batch.requests.empty()) return {};
  const auto admission = frame_->services().cache.admissions().admit(needed_bytes(batch.requests));
  FRAMEFS_TRY(const auto decoded, frame_->fetch(batch.requests));
  for (std::size_t i = 0; i < decoded.size(); ++i) {
    blocks_->copy(batch, i, decoded[i]->view());
    const auto [chunk, block] = batch.blocks[i];
    // The block is evicted if its last byte is in the reply. It is also evicted if the cache has no
    // room to keep it until the reader reaches its last byte.
    const auto end = batch.range.offset + batch.range.size;
    const bool is_end = array_->layout.end_of_block(chunk, block) <= end;
    const bool is_passing = access != Access::random && !is_kept(batch.blocks[i]);
    if (is_end || is_passing) frame_->release_with(result.served, batch.requests[i]);
  }
  batch.clear();
  return {};
}

// A reader in C order needs each block of a band again. If a band exceeds the cache's share,
// keeping the latest blocks would evict each block just before its next use. Instead, a fixed share
// of the blocks stays in the cache, and each read finds it there.
bool ArrayView::is_kept(ArrayBlocks::Block block) const noexcept {
  constexpr std::uint64_t kSpread = 0x9e3779b97f4a7c15ULL;
  const std::uint64_t number =
      block.chunk.value * array_->layout.blocks_per_chunk() + block.block.value;
  return ((number * kSpread) >> 32) % kMille < kept_per_mille_;
}

Result<std::uint64_t> ArrayView::seek(Seek what, std::uint64_t offset) const {
  if (!array_) return std::unexpected(array_.error());
  const auto& [layout, header] = *array_;
  const std::uint64_t end = header.size() + layout.nbytes();
  if (offset >= end) return system_error_of(ENXIO, "seek");
  if (offset < header.size()) {
    if (what == Seek::data) return offset;
    offset = header.size();
    if (offset == end) return end;
  }
  FRAMEFS_TRY(const auto found, seek_in_array(*frame_, layout, what, offset - header.size()));
  if (what == Seek::data && found == layout.nbytes()) return system_error_of(ENXIO, "seek");
  return header.size() + found;
}

}  // namespace framefs::fs
