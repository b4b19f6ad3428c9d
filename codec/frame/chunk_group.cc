#include "codec/frame/chunk_group.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace framefs::codec {
namespace {

// A group decodes to as many bytes as one thread should decode at a time.
constexpr std::uint64_t kGroupBytes = 128u << 10;
// For larger chunks, the work per chunk is small beside its decoding.
constexpr std::uint64_t kMaxSmallChunk = 32u << 10;
// The bytes that a stored chunk may have more than its decoded bytes, in frames of usual writers.
constexpr std::uint64_t kExtraBytes = 64;

// A source of which one range is in memory.
class PartlyLoaded final : public ByteSource {
 public:
  PartlyLoaded(const ByteSource& whole, std::uint64_t begin, std::span<const std::byte> loaded)
      : whole_(whole), begin_(begin), loaded_(loaded) {}

  // The bytes of a range in memory; nothing if one of them is elsewhere.
  [[nodiscard]] std::optional<std::span<const std::byte>> find(ByteRange range) const {
    if (range.offset < begin_ || range.offset - begin_ > loaded_.size()) return std::nullopt;
    const auto rest = loaded_.subspan(range.offset - begin_);
    if (range.size > rest.size()) return std::nullopt;
    return rest.first(range.size);
  }
  [[nodiscard]] Status read_at(std::uint64_t offset, std::span<std::byte> out) const override {
    const auto found = find({offset, out.size()});
    if (!found) return whole_.read_at(offset, out);
    std::copy_n(found->data(), found->size(), out.data());
    return {};
  }
  [[nodiscard]] Result<std::uint64_t> size() const override { return whole_.size(); }
  [[nodiscard]] Result<std::uint64_t> available_from(std::uint64_t offset) const override {
    return whole_.available_from(offset);
  }

 private:
  const ByteSource& whole_;
  const std::uint64_t begin_;
  const std::span<const std::byte> loaded_;
};

Status decode_blocks(const Chunk& chunk, const PartlyLoaded& source, BlockDecoder& decoder,
                     Scratch& spare, std::span<std::byte> out) {
  for (std::uint32_t number = 0; number < chunk.block_count(); ++number) {
    const BlockIndex block{number};
    const auto range = chunk.block_range(block);
    FRAMEFS_TRY(const auto place, chunk.stored_range(block));
    auto stored = source.find(place);
    if (!stored) {
      const auto read = spare.take(place.size);
      FRAMEFS_CHECK(source.read_at(place.offset, read));
      stored = read;
    }
    const bool needs_first = number > 0 && chunk.needs_first_block();
    const auto first = needs_first ? chunk.block_range({0}).size : 0;
    FRAMEFS_CHECK(decoder.decode(chunk, block, *stored, out.subspan(range.offset, range.size),
                                 out.first(first)));
  }
  return {};
}

Status decode_chunk(const Chunk& chunk, const PartlyLoaded& source, BlockDecoder& decoder,
                    Scratch& spare, std::span<std::byte> out) {
  switch (chunk.body()) {
    case ChunkBody::special:
      chunk.fill(0, out);
      return {};
    case ChunkBody::plain:
      return source.read_at(chunk.plain_offset(), out);
    case ChunkBody::blocks:
      break;
  }
  return decode_blocks(chunk, source, decoder, spare, out);
}

}  // namespace

std::uint64_t ChunkGroup::chunks_per_group(const Frame& frame) noexcept {
  const auto& header = frame.header();
  if (header.type == FrameType::sparse || header.has_variable_chunks()) return 0;
  // Chunk by chunk, the reader asks which bytes are there.
  if (frame.data_place().lies_elsewhere()) return 0;
  if (header.chunksize > kMaxSmallChunk || frame.chunk_count() < 2) return 0;
  return std::min(kGroupBytes / header.chunksize, kMaxChunks);
}

ChunkGroup::ChunkGroup(const Frame& frame, const Limits& limits, ChunkIndex first,
                       std::vector<std::int64_t> entries, std::vector<ChunkChecksum> checksums)
    : frame_(frame),
      limits_(limits),
      first_(first),
      entries_(std::move(entries)),
      checksums_(std::move(checksums)),
      nbytes_((entries_.size() - 1) * frame.header().chunksize +
              frame.chunk_range({first.value + entries_.size() - 1}).size),
      stored_(find_stored()) {}

bool ChunkGroup::is_zero() const noexcept {
  return std::ranges::all_of(entries_,
                             [&](std::int64_t entry) { return frame_.is_zero_entry(entry); });
}

ByteRange ChunkGroup::find_stored() const noexcept {
  const auto& header = frame_.header();
  const auto is_stored = [&](std::int64_t entry) {
    return entry >= 0 && std::cmp_less(entry, header.cbytes);
  };
  // The chunks near the one in the middle.  The first one may have been moved by itself.
  const auto middle = entries_.begin() + static_cast<std::ptrdiff_t>(entries_.size() / 2);
  auto anchor = std::find_if(middle, entries_.end(), is_stored);
  if (anchor == entries_.end()) anchor = std::find_if(entries_.begin(), middle, is_stored);
  if (!is_stored(*anchor)) return {};
  const auto center = static_cast<std::uint64_t>(*anchor);
  const std::uint64_t reach = entries_.size() * (header.chunksize + kExtraBytes);
  auto begin = center;
  auto last = center;
  for (const auto entry : entries_) {
    if (!is_stored(entry)) continue;
    const auto offset = static_cast<std::uint64_t>(entry);
    if (std::max(offset, center) - std::min(offset, center) > reach) continue;
    begin = std::min(begin, offset);
    last = std::max(last, offset);
  }
  const auto tail = std::max<std::uint64_t>(header.chunksize + kExtraBytes, Chunk::kHeadBytes);
  const auto end = last + std::min(header.cbytes - last, tail);
  return {header.header_len + begin, end - begin};
}

Status ChunkGroup::decode(const ByteSource& chunks, std::span<const std::byte> stored,
                          BlockDecoder& decoder, Scratch& spare, std::span<std::byte> out) const {
  const PartlyLoaded source(chunks, stored_.offset, stored);
  // The index of an untrusted frame may name one stored chunk for all chunks of the group.
  std::optional<Chunk> chunk;
  std::optional<std::int64_t> opened;
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    const ChunkIndex index{first_.value + i};
    const auto entry = entries_[i];
    if (!checksums_.empty()) {
      FRAMEFS_CHECK(verify_chunk(source, frame_.header(), entry, checksums_[i]));
    }
    if (opened != entry || chunk->nbytes() != frame_.chunk_range(index).size) {
      FRAMEFS_TRY(chunk, frame_.open_chunk(source, index, entry, limits_));
      opened = entry;
    }
    FRAMEFS_CHECK(decode_chunk(*chunk, source, decoder, spare, out.first(chunk->nbytes())));
    out = out.subspan(chunk->nbytes());
  }
  return {};
}

}  // namespace framefs::codec
