#include "fs/view/array_bands.h"

#include <algorithm>
#include <utility>

#include "codec/array/touched_blocks.h"
#include "codec/core/work_budget.h"
#include "fs/core/resources/heap.h"

namespace framefs::fs {
namespace {

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

}  // namespace

std::unique_ptr<const ArrayBands> ArrayBands::make(const ArrayBlocks& blocks,
                                                   std::uint64_t cache_bytes) {
  if (!blocks.frame().has_parts()) return nullptr;
  const auto& layout = blocks.layout();
  const auto band = BandParts::band_bytes(layout);
  if (band > kMaxBandOfParts || layout.block_bytes() > kMaxBlockOfParts ||
      band / layout.block_bytes() > kMaxBlocksOfBand) {
    return nullptr;
  }
  const auto parts = BandParts::make(layout, partial_band_bytes(cache_bytes));
  if (!parts) return nullptr;
  return std::unique_ptr<const ArrayBands>(new ArrayBands(blocks, *parts));
}

// A decoded part of a band.
struct ArrayBands::DecodedPart {
  std::shared_ptr<const Bytes> bytes;  // null if one of its blocks cannot be decoded
  [[nodiscard]] std::uint64_t memory_bytes() const noexcept {
    return sizeof(*this) + (bytes ? bytes->view().size() : 0);
  }
};

// A part in use, and the right to have it in memory.
struct ArrayBands::UsedPart {
  Admission admission;
  std::shared_ptr<const DecodedPart> decoded;  // pins the value in the cache
  // Whether there are bytes; otherwise the blocks have to be read one by one.
  [[nodiscard]] bool has_bytes() const noexcept { return decoded && decoded->bytes; }
  [[nodiscard]] std::span<const std::byte> bytes(ByteRange within) const {
    return decoded->bytes->view().subspan(within.offset, within.size);
  }
};

// The part for a reader of its bytes from `from` on.
auto ArrayBands::use(ByteRange part, std::uint64_t from) const -> Result<UsedPart> {
  const auto& frame = blocks_.frame();
  auto& cache = frame.services().cache;
  const CacheKey key{
      .content = frame.content(), .chunk = part.offset, .kind = CacheKind::band_part};
  // A part is not decoded for its end alone.  A request that another one has overtaken would evict
  // the next part.
  if (from > part.size / 2 && !cache.knows(key)) return UsedPart{};
  cache.wait_for(key);
  UsedPart used;
  used.admission = cache.admissions().admit(part.size + DecodeCache::kOverheadBytes);
  const auto make = [&] { return decode(part); };
  FRAMEFS_TRY(used.decoded, cache.get<DecodedPart>(key, make, part.size));
  return used;
}

Status ArrayBands::fill(ByteRange range, std::span<std::byte> out,
                        const ReadBlocks& read_blocks) const {
  while (range.size > 0) {
    const auto part = parts_.part_at(range.offset);
    const auto skip = range.offset - part.offset;
    const auto take = std::min(part.size - skip, range.size);
    FRAMEFS_TRY(auto used, use(part, skip));
    if (used.has_bytes()) {
      std::copy_n(used.bytes({skip, take}).data(), take, out.data());
    } else {
      used = {};  // no other admission is asked for while one is held
      FRAMEFS_CHECK(read_blocks({range.offset, take}, out.first(take)));
    }
    out = out.subspan(take);
    range.offset += take;
    range.size -= take;
  }
  return {};
}

Result<bool> ArrayBands::answer(ReadResult& result, ByteRange range) const {
  const auto part = parts_.part_at(range.offset);
  const auto skip = range.offset - part.offset;
  if (range.size > part.size - skip) return false;
  FRAMEFS_TRY(auto used, use(part, skip));
  if (!used.has_bytes()) return false;
  result.admission = std::move(used.admission);
  result.spans.push_back(used.bytes({skip, range.size}));
  result.owners.push_back(std::move(used.decoded));
  return true;
}

// A part with a damaged block is remembered: its readers read the blocks one by one, which reports
// the damage, and do not decode the part again and again.
auto ArrayBands::decode(ByteRange part) const -> Result<std::shared_ptr<const DecodedPart>> {
  auto bytes = std::make_shared<Bytes>(blocks_.frame().services().buffers, part.size);
  prefer_large_pages(bytes->writable());
  const auto filled = decode_blocks(part, bytes->writable());
  if (!filled && codec::is_work_error(filled.error())) return std::unexpected(filled.error());
  auto decoded = std::make_shared<DecodedPart>();
  if (filled) decoded->bytes = std::move(bytes);
  return decoded;
}

Status ArrayBands::decode_blocks(ByteRange part, std::span<std::byte> out) const {
  ArrayBlocks::Batch batch{.range = part, .out = out};
  Status status;
  codec::TouchedBlocks(blocks_.layout(), part).for_each([&](ChunkIndex chunk, BlockIndex block) {
    if (status) status = blocks_.plan(batch, {chunk, block});
    const bool is_full = batch.requests.size() == ArrayBlocks::kMaxAtOnce || batch.tables.is_full();
    if (!status || !is_full) return;
    status = blocks_.decode_parts(batch);
    batch.clear();
  });
  FRAMEFS_CHECK(status);
  return blocks_.decode_parts(batch);
}

}  // namespace framefs::fs
