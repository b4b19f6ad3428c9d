#include "fs/view/first_touch.h"

#include <algorithm>

#include "codec/core/checked.h"

namespace framefs::fs {
namespace {

// A chunk of this size is fetched whole: a second request costs more than its bytes.
constexpr std::uint64_t kWholeBytes = 64 << 10;
// Chunk::open() reads this much at once.
constexpr std::uint64_t kMinTableBytes = 1024;
constexpr std::uint64_t kMaxTableBytes = 64 << 10;
// The block size to assume before the first chunk of a frame has been opened.
constexpr std::uint64_t kUsualBlockBytes = 64 << 10;
// Source: chunk format, "Header" and "Offsets".
constexpr std::uint64_t kChunkHeaderBytes = 32;
constexpr std::uint64_t kTableEntryBytes = 4;
// The place of a block in a frame of which no chunk has been opened yet: wrong by at least so much.
constexpr std::uint64_t kMinSlackBytes = 4 << 10;
// The blocks of the next chunk lie up to this many times as far from their estimated place as those
// of the last one.
constexpr std::uint64_t kDeviations = 2;
constexpr std::uint64_t kMinKnownSlackBytes = 512;

// a * b / c without overflow of the product.
std::uint64_t scaled(std::uint64_t a, std::uint64_t b, std::uint64_t c) {
  return static_cast<std::uint64_t>(static_cast<double>(a) * static_cast<double>(b) /
                                    static_cast<double>(c));
}

}  // namespace

ChunkShape shape_of(const codec::Chunk& chunk) {
  const auto& header = chunk.header();
  const auto tables = header.header_bytes() + std::uint64_t{header.nblocks} * kTableEntryBytes;
  ChunkShape shape{.table_bytes = tables, .block_bytes = header.blocksize};
  const auto data = header.cbytes - std::min<std::uint64_t>(header.cbytes, tables);
  std::optional<std::uint64_t> begin;
  std::uint64_t deviation = 0;
  for (std::uint32_t i = 0; i < chunk.block_count(); ++i) {
    const auto stored = chunk.stored_range(codec::BlockIndex{i});
    if (!stored) return shape;
    if (!begin) begin = stored->offset;
    const auto place = chunk.block_range(codec::BlockIndex{i}).offset;
    const auto estimated = *begin + scaled(data, place, chunk.nbytes());
    deviation = std::max(deviation,
                         std::max(estimated, stored->offset) - std::min(estimated, stored->offset));
  }
  shape.deviation_bytes = deviation;
  return shape;
}

std::vector<ByteRange> first_touch_ranges(const FirstTouch& touch, const ChunkShape& shape) {
  const auto& [stored, nbytes, within, goes_on] = touch;
  if (stored.size <= kWholeBytes || nbytes == 0) {
    return {{stored.offset, std::min(stored.size, kWholeBytes)}};
  }
  const auto block = shape.block_bytes == 0 ? kUsualBlockBytes : shape.block_bytes;
  const auto usual = kChunkHeaderBytes + codec::div_ceil(nbytes, block) * kTableEntryBytes;
  const auto known = shape.table_bytes == 0 ? usual : shape.table_bytes;
  const auto fetched = std::clamp(known, kMinTableBytes, kMaxTableBytes);
  const auto table = std::min(known, stored.size);
  const auto data = stored.size - table;
  const auto first = within.offset / block * block;
  const auto last = std::min(nbytes, (within.offset + within.size + block - 1) / block * block);
  const auto begin = std::min(data, scaled(data, std::min(first, nbytes), nbytes));
  const auto end = std::min(data, scaled(data, last, nbytes));
  const ByteRange tables{stored.offset, fetched};
  auto slack = std::max(kMinSlackBytes, scaled(data, std::min(block, nbytes), nbytes) / 2);
  if (shape.deviation_bytes) {
    slack = std::max(kMinKnownSlackBytes, kDeviations * *shape.deviation_bytes);
    if (!goes_on && 2 * slack > end - std::min(begin, end)) return {tables};
  }
  const auto from = begin - std::min(begin, slack);
  const auto to = end + std::min(data - end, slack);
  return {tables, {stored.offset + table + from, to - std::min(from, to)}};
}

}  // namespace framefs::fs
