#include "fs/view/array_view.h"

#include <algorithm>
#include <cerrno>
#include <optional>
#include <unordered_set>
#include <utility>

#include "codec/array/block_run_cursor.h"
#include "codec/array/npy_header.h"
#include "codec/array/touched_blocks.h"
#include "codec/core/work_budget.h"
#include "codec/frame/frame_array.h"
#include "fs/core/heap.h"
#include "fs/view/array_holes.h"

namespace framefs::fs {
namespace {

// Shares of the cache's budget.  The first is for the blocks that one read pins at a time.  The
// second is for the blocks that a reader of the whole array needs again.
constexpr std::uint64_t kBatchShare = 4;
constexpr std::uint64_t kBandShare = 2;

// The part of a band that is decoded at a time.  The rest of the budget is for the blocks and
// tables of other readers.
constexpr std::uint64_t partial_band_bytes(std::uint64_t cache_bytes) {
  return cache_bytes / 4 * 3;
}
// Limits of a band that is decoded in parts: the bytes bound the time of the read that decodes
// them, a block is the memory of a thread, and each block costs a request.
constexpr std::uint64_t kMaxBandOfParts = 1u << 30;
constexpr std::uint64_t kMaxBlockOfParts = 4u << 20;
constexpr std::uint64_t kMaxBlocksOfBand = 1u << 18;

// Applies even to tiny blocks, because each block costs a request, a place in the cache, and more.
constexpr std::uint64_t kMaxBlocksAtOnce = 4096;

constexpr std::uint32_t kMille = 1000;

std::uint32_t per_mille(std::uint64_t part, std::uint64_t whole) {
  if (part >= whole) return kMille;
  return static_cast<std::uint32_t>(part / std::max<std::uint64_t>(whole / kMille, 1));
}

}  // namespace

// A batch of blocks of one read, and the place of their bytes.
struct ArrayView::Batch {
  ByteRange range;            // of the array
  std::span<std::byte> out;   // for all of the range
  std::vector<Block> blocks;  // one for each request
  std::vector<BlockRequest> requests;
  HeldTables tables;
  void add(Block block, BlockRequest request) {
    blocks.push_back(block);
    requests.push_back(std::move(request));
  }
  // After the blocks have been decoded.
  void clear() {
    blocks.clear();
    requests.clear();
    tables = {};
  }
};

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
      parts_(make_parts(cache_bytes)) {}

std::unique_ptr<const BandParts> ArrayView::make_parts(std::uint64_t cache_bytes) const {
  if (!array_ || kept_per_mille_ == kMille || !frame_->content() || frame_->is_far()) {
    return nullptr;
  }
  const auto& layout = array_->layout;
  const auto band = BandParts::band_bytes(layout);
  if (band > kMaxBandOfParts || layout.block_bytes() > kMaxBlockOfParts ||
      band / layout.block_bytes() > kMaxBlocksOfBand) {
    return nullptr;
  }
  const auto parts = BandParts::make(layout, partial_band_bytes(cache_bytes));
  return parts ? std::make_unique<const BandParts>(*parts) : nullptr;
}

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
  const bool by_parts = parts_ && access == Access::streaming;
  if (by_parts) {
    FRAMEFS_TRY(const bool is_answered, answer_from_part(result, range));
    if (is_answered) return result;
  }
  auto bytes = std::make_shared<Bytes>(frame_->services().buffers, size);
  if (by_parts) {
    FRAMEFS_CHECK(fill_by_parts(result, range, bytes->writable()));
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
      if (seen_.size() == kMaxBlocksAtOnce || !seen_.insert(number).second) return;
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
  std::vector<Block> touched;
  codec::TouchedBlocks(layout, {begin - header.size(), stop - begin})
      .for_each([&](ChunkIndex index, BlockIndex block) {
        if (touched.size() <= kMaxBlocksAtOnce) touched.push_back({index, block});
      });
  if (touched.size() > kMaxBlocksAtOnce) return false;
  expect(range, {});
  std::vector<BlockRequest> requests;
  HeldTables tables;
  for (const auto& [index, block] : touched) {
    auto chunk = open_chunk(index);
    if (!chunk) return false;
    tables.add(**chunk);
    if (tables.is_full()) return false;
    if ((*chunk)->body() != codec::ChunkBody::blocks) continue;
    requests.push_back(frame_->request(std::move(*chunk), index, block));
  }
  return frame_->fetch_ahead(requests);
}

// Splits the range until each batch needs no more blocks than a read may pin.
Status ArrayView::fill(ReadResult& result, ByteRange range, std::span<std::byte> out,
                       Access access) const {
  const auto& layout = array_->layout;
  const std::uint64_t most =
      std::clamp<std::uint64_t>(batch_bytes_ / layout.block_bytes(), 1, kMaxBlocksAtOnce);
  std::vector<Block> blocks;
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

Status ArrayView::fill_batch(ReadResult& result, std::span<const Block> blocks, ByteRange range,
                             std::span<std::byte> out, Access access) const {
  Batch batch{.range = range, .out = out, .blocks = {}, .requests = {}, .tables = {}};
  for (const auto& block : blocks) {
    FRAMEFS_CHECK(plan_block(batch, block));
    if (batch.tables.is_full()) FRAMEFS_CHECK(fetch_batch(result, batch, access));
  }
  return fetch_batch(result, batch, access);
}

Status ArrayView::fetch_batch(ReadResult& result, Batch& batch, Access access) const {
  // A reader that streams comes back to each block soon.
  if (access != Access::streaming) FRAMEFS_CHECK(take_early_parts(batch));
  if (batch.requests.empty()) return {};
  const auto admission = frame_->services().cache.admit(BlockFetcher::needed_bytes(batch.requests));
  FRAMEFS_TRY(const auto decoded, frame_->fetch(batch.requests));
  for (std::size_t i = 0; i < decoded.size(); ++i) {
    copy_block(batch, batch.blocks[i], decoded[i]->view());
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

// A decoded part of a band.
struct ArrayView::DecodedPart {
  std::shared_ptr<const Bytes> bytes;  // null if one of its blocks cannot be decoded
  [[nodiscard]] std::uint64_t memory_bytes() const noexcept {
    return sizeof(*this) + (bytes ? bytes->view().size() : 0);
  }
};

// A part in use, and the right to have it in memory.
struct ArrayView::UsedPart {
  DecodeCache::Admission admission;
  std::shared_ptr<const DecodedPart> decoded;  // pins the value in the cache
  // Whether there are bytes; otherwise the blocks have to be read one by one.
  [[nodiscard]] bool has_bytes() const noexcept { return decoded && decoded->bytes; }
  [[nodiscard]] std::span<const std::byte> bytes(ByteRange within) const {
    return decoded->bytes->view().subspan(within.offset, within.size);
  }
};

// The part for a reader of its bytes from `from` on.
Result<ArrayView::UsedPart> ArrayView::use_part(ByteRange part, std::uint64_t from) const {
  auto& cache = frame_->services().cache;
  const CacheKey key{
      .content = frame_->content(), .chunk = part.offset, .kind = CacheKind::band_part};
  // A part is not decoded for its end alone.  A request that another one has overtaken would evict
  // the next part.
  if (from > part.size / 2 && !cache.knows(key)) return UsedPart{};
  cache.wait_for(key);
  UsedPart used;
  used.admission = cache.admit(part.size + DecodeCache::kOverheadBytes);
  const auto make = [&] { return decode_part(part); };
  FRAMEFS_TRY(used.decoded, cache.get<DecodedPart>(key, make, part.size));
  return used;
}

Status ArrayView::fill_by_parts(ReadResult& result, ByteRange range,
                                std::span<std::byte> out) const {
  while (range.size > 0) {
    const auto part = parts_->part_at(range.offset);
    const auto skip = range.offset - part.offset;
    const auto take = std::min(part.size - skip, range.size);
    FRAMEFS_TRY(auto used, use_part(part, skip));
    if (used.has_bytes()) {
      std::copy_n(used.bytes({skip, take}).data(), take, out.data());
    } else {
      used = {};  // no other admission is asked for while one is held
      FRAMEFS_CHECK(fill(result, {range.offset, take}, out.first(take), Access::sequential));
    }
    out = out.subspan(take);
    range.offset += take;
    range.size -= take;
  }
  return {};
}

// Answers a range that lies in one part, without a copy.  Returns false if there is no such part.
Result<bool> ArrayView::answer_from_part(ReadResult& result, ByteRange range) const {
  const auto part = parts_->part_at(range.offset);
  const auto skip = range.offset - part.offset;
  if (range.size > part.size - skip) return false;
  FRAMEFS_TRY(auto used, use_part(part, skip));
  if (!used.has_bytes()) return false;
  result.admission = std::move(used.admission);
  result.spans.push_back(used.bytes({skip, range.size}));
  result.owners.push_back(std::move(used.decoded));
  return true;
}

// A part with a damaged block is remembered: its readers read the blocks one by one, which reports
// the damage, and do not decode the part again and again.
Result<std::shared_ptr<const ArrayView::DecodedPart>> ArrayView::decode_part(ByteRange part) const {
  auto bytes = std::make_shared<Bytes>(frame_->services().buffers, part.size);
  prefer_large_pages(bytes->writable());
  const auto filled = fill_part(part, bytes->writable());
  if (!filled && codec::is_work_error(filled.error())) return std::unexpected(filled.error());
  auto decoded = std::make_shared<DecodedPart>();
  if (filled) decoded->bytes = std::move(bytes);
  return decoded;
}

// Copies what the batch needs of blocks that readers have seldom touched, without the rest of them,
// and takes these blocks out of the batch.
Status ArrayView::take_early_parts(Batch& batch) const {
  Batch early{.range = batch.range, .out = batch.out, .blocks = {}, .requests = {}, .tables = {}};
  Batch others = early;
  for (std::size_t i = 0; i < batch.requests.size(); ++i) {
    const auto block = batch.blocks[i];
    auto& request = batch.requests[i];
    const bool is_early = frame_->is_early_part(request, needed_part(block, batch.range));
    (is_early ? early : others).add(block, std::move(request));
  }
  const auto decoded = decode_parts(early);
  if (!decoded && codec::is_work_error(decoded.error())) return decoded;
  // The fetch of the whole blocks reports which of them is damaged.
  for (std::size_t i = 0; !decoded && i < early.requests.size(); ++i) {
    others.add(early.blocks[i], std::move(early.requests[i]));
  }
  batch.blocks = std::move(others.blocks);
  batch.requests = std::move(others.requests);
  return {};
}

// The bytes of a block that a range of the array needs, and those between them.
ByteRange ArrayView::needed_part(Block block, ByteRange range) const {
  std::optional<ByteRange> part;
  for (codec::BlockRunCursor runs(array_->layout, block.chunk, block.block, range); runs.next();) {
    const auto& run = runs.run();
    if (!part) part = {run.within, 0};
    part->size = run.within + run.size - part->offset;
  }
  return part.value_or(ByteRange{});
}

Status ArrayView::decode_parts(const Batch& batch) const {
  if (batch.requests.empty()) return {};
  std::vector<BlockFetcher::BlockPart> parts;
  parts.reserve(batch.requests.size());
  for (std::size_t i = 0; i < batch.requests.size(); ++i) {
    parts.push_back({batch.requests[i], needed_part(batch.blocks[i], batch.range)});
  }
  return frame_->decode_parts(parts, [&](std::size_t i, std::span<const std::byte> block) {
    copy_block(batch, batch.blocks[i], block);
  });
}

Status ArrayView::fill_part(ByteRange part, std::span<std::byte> out) const {
  Batch batch{.range = part, .out = out, .blocks = {}, .requests = {}, .tables = {}};
  Status status;
  codec::TouchedBlocks(array_->layout, part).for_each([&](ChunkIndex chunk, BlockIndex block) {
    if (status) status = plan_block(batch, {chunk, block});
    const bool is_full = batch.requests.size() == kMaxBlocksAtOnce || batch.tables.is_full();
    if (!status || !is_full) return;
    status = decode_parts(batch);
    batch.clear();
  });
  FRAMEFS_CHECK(status);
  return decode_parts(batch);
}

// A reader in C order needs each block of a band again. If a band exceeds the cache's share,
// keeping the latest blocks would evict each block just before its next use. Instead, a fixed share
// of the blocks stays in the cache, and each read finds it there.
bool ArrayView::is_kept(Block block) const noexcept {
  constexpr std::uint64_t kSpread = 0x9e3779b97f4a7c15ULL;
  const std::uint64_t number =
      block.chunk.value * array_->layout.blocks_per_chunk() + block.block.value;
  return ((number * kSpread) >> 32) % kMille < kept_per_mille_;
}

Result<std::shared_ptr<const codec::Chunk>> ArrayView::open_chunk(ChunkIndex index) const {
  FRAMEFS_TRY(auto chunk, frame_->chunk(index, frame_->frame()->header().chunksize));
  const auto& header = chunk->header();
  const bool is_cut = chunk->body() == codec::ChunkBody::blocks;
  if (is_cut && (header.vl_blocks || header.blocksize != array_->layout.block_bytes())) {
    constexpr std::uint64_t kBlocksizeAt = 8;
    const Error error{.kind = Errc::bad_field,
                      .field = "blocksize of an array's chunk",
                      .at = kBlocksizeAt,
                      .value = header.blocksize};
    frame_->log_failure(error, index);
    return std::unexpected(error);
  }
  return chunk;
}

// Blocks that need no decoding are copied to the reply at once; the others join the batch.
Status ArrayView::plan_block(Batch& batch, Block block) const {
  const auto& layout = array_->layout;
  FRAMEFS_TRY(const auto chunk, open_chunk(block.chunk));
  FRAMEFS_CHECK(frame_->check_fetched(
      block.chunk, *chunk, {block.block.value * layout.block_bytes(), layout.block_bytes()}));
  switch (chunk->body()) {
    case codec::ChunkBody::special:
      for (codec::BlockRunCursor runs(layout, block.chunk, block.block, batch.range);
           runs.next();) {
        const auto& run = runs.run();
        chunk->fill(block.block.value * layout.block_bytes() + run.within,
                    batch.out.subspan(run.offset - batch.range.offset, run.size));
      }
      return {};
    case codec::ChunkBody::plain: {
      FRAMEFS_TRY(const auto bytes, read_plain_block(*chunk, block));
      copy_block(batch, block, bytes->view());
      return {};
    }
    case codec::ChunkBody::blocks:
      break;
  }
  batch.tables.add(*chunk);
  batch.add(block, frame_->request(chunk, block.chunk, block.block));
  return {};
}

// Reads a block of a chunk that is stored uncompressed.
Result<BlockFetcher::Block> ArrayView::read_plain_block(const codec::Chunk& chunk,
                                                        Block block) const {
  const auto block_bytes = array_->layout.block_bytes();
  auto bytes = std::make_shared<Bytes>(frame_->services().buffers, block_bytes);
  FRAMEFS_CHECK(
      frame_->read_plain(chunk, block.chunk, block.block.value * block_bytes, bytes->writable()));
  return bytes;
}

void ArrayView::copy_block(const Batch& batch, Block block,
                           std::span<const std::byte> bytes) const {
  codec::BlockRunCursor runs(array_->layout, block.chunk, block.block, batch.range);
  while (runs.next()) {
    const auto& run = runs.run();
    std::copy_n(bytes.subspan(run.within, run.size).data(), run.size,
                batch.out.subspan(run.offset - batch.range.offset, run.size).data());
  }
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
