#include "codec/frame/index_encoder.h"

#include <algorithm>
#include <optional>
#include <utility>

#include <xxhash.h>

#include "codec/chunk/block_encoder.h"
#include "codec/chunk/chunk_update.h"
#include "codec/core/checked.h"
#include "codec/core/limits.h"
#include "codec/frame/frame_index.h"

namespace framefs::codec {
namespace {

constexpr std::size_t kBlockEntries = kIndexBlockBytes / kIndexEntryBytes;
// Encoding a shorter index takes less time than reading the stored one.
constexpr std::size_t kMinEntries = 16 * kBlockEntries;

IndexEncoder::Digest digest_of(std::span<const std::int64_t> entries) noexcept {
  const auto hash = XXH3_128bits(entries.data(), entries.size_bytes());
  return {hash.low64, hash.high64};
}

// Such an index is stored as one repeated value.
bool is_repeated(std::span<const std::int64_t> entries) {
  return std::ranges::all_of(entries, [&](std::int64_t entry) { return entry == entries[0]; });
}

std::shared_ptr<const Chunk> open_stored(const ByteSource& source, ByteRange place) {
  if (place.size == 0) return nullptr;
  auto stored = Chunk::open(source, place.offset, place.size, {.schunk_typesize = kIndexEntryBytes},
                            Limits{});
  return stored ? std::make_shared<const Chunk>(std::move(*stored)) : nullptr;
}

// Encodes the blocks of an index.
class Blocks {
 public:
  Blocks(const ChunkPlan& plan, std::span<const std::int64_t> entries)
      : plan_(plan), entries_(entries), plain_(kIndexBlockBytes) {}

  Result<std::span<const std::byte>> encode(BlockIndex block) {
    const auto [offset, size] = plan_.block_range(block);
    const auto plain = std::span(plain_).first(size);
    store_entries(entries_.subspan(offset / kIndexEntryBytes, size / kIndexEntryBytes), plain);
    encoded_.resize(plan_.max_block_bytes(block));
    FRAMEFS_TRY(const auto encoded, encoder_.encode(plan_, block, plain, encoded_));
    ++count_;
    return std::span(encoded_).first(encoded);
  }
  [[nodiscard]] std::uint64_t count() const noexcept { return count_; }

 private:
  const ChunkPlan& plan_;
  const std::span<const std::int64_t> entries_;
  BlockEncoder encoder_;
  std::vector<std::byte> plain_;
  std::vector<std::byte> encoded_;
  std::uint64_t count_ = 0;
};

// Room for the index and the trailer.  The memory is not touched before it is written, so that
// room for the longest possible index costs nothing.
IndexEncoder::Encoded room_for(std::size_t index_size, std::size_t trailer_size) {
  return {.buffer = std::make_unique_for_overwrite<std::byte[]>(index_size + trailer_size)};
}

void finish(IndexEncoder::Encoded& out, std::size_t index_size,
            std::span<const std::byte> trailer) {
  std::ranges::copy(trailer, out.buffer.get() + index_size);
  out.index_size = index_size;
  out.size = index_size + trailer.size();
}

Result<IndexEncoder::Encoded> encode_whole(std::span<const std::int64_t> entries,
                                           std::span<const std::byte> trailer) {
  FRAMEFS_TRY(const auto index, encode_index(entries));
  auto out = room_for(index.size(), trailer.size());
  std::ranges::copy(index, out.buffer.get());
  finish(out, index.size(), trailer);
  out.encoded_blocks = div_ceil(entries.size(), kBlockEntries);
  return out;
}

}  // namespace

std::vector<IndexEncoder::Digest> IndexEncoder::digests_of(std::span<const std::int64_t> entries) {
  std::vector<Digest> digests;
  if (entries.size() < kMinEntries) return digests;
  digests.reserve(div_ceil(entries.size(), kBlockEntries));
  while (!entries.empty()) {
    const auto block = entries.first(std::min(entries.size(), kBlockEntries));
    digests.push_back(digest_of(block));
    entries = entries.subspan(block.size());
  }
  return digests;
}

void IndexEncoder::set_stored(ByteRange place, std::vector<Digest> digests) noexcept {
  place_ = place;
  digests_ = std::move(digests);
}

Result<IndexEncoder::Encoded> IndexEncoder::encode(std::span<const std::int64_t> entries,
                                                   std::span<const std::byte> trailer,
                                                   const ByteSource& source) const {
  const bool has_too_many = entries.size() > kMaxChunkBytes / kIndexEntryBytes;
  if (entries.size() < kMinEntries || has_too_many || is_repeated(entries)) {
    return encode_whole(entries, trailer);
  }
  const auto nbytes = static_cast<std::uint32_t>(entries.size() * kIndexEntryBytes);
  auto digests = digests_of(entries);
  const auto stored = digests_.empty() ? nullptr : open_stored(source, place_);
  std::optional<ChunkPlan> plan;
  if (stored) {
    FRAMEFS_TRY(plan, ChunkPlan::make_update(index_params(), nbytes, *stored));
  }
  const bool may_keep = plan.has_value();
  if (!plan) {
    FRAMEFS_TRY(plan, ChunkPlan::make_blocks(index_params(), nbytes));
  }
  std::size_t room = plan->blocks_begin();
  std::vector<bool> kept(plan->block_count());
  for (BlockIndex block; block.value < kept.size(); ++block.value) {
    const auto i = block.value;
    const bool is_same = may_keep && i < digests_.size() && digests[i] == digests_[i];
    const auto place = is_same && plan->fits(block, *stored) ? stored->stored_range(block)
                                                             : Result<ByteRange>(ByteRange{});
    kept[i] = place && place->size > 0;
    room += kept[i] ? place->size : plan->max_block_bytes(block);
  }
  auto out = room_for(room, trailer.size());
  const ChunkUpdate update{std::move(*plan), stored, &source, std::move(kept)};
  Blocks blocks(update.plan, entries);
  const auto size = assemble_update(update, [&](BlockIndex block) { return blocks.encode(block); },
                                    {out.buffer.get(), room});
  // Without the stored index, all entries are still known.
  if (!size || *size == 0) return encode_whole(entries, trailer);
  finish(out, *size, trailer);
  out.encoded_blocks = blocks.count();
  out.digests = std::move(digests);
  return out;
}

}  // namespace framefs::codec
