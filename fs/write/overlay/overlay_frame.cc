#include "fs/write/overlay/overlay_frame.h"

#include <algorithm>
#include <utility>

#include "codec/frame/chunk_space.h"
#include "fs/read/range_plan.h"

namespace framefs::fs {
namespace {

// The decoded bytes of a chunk that are held at a time when all of the chunk is read.
constexpr std::uint64_t kDecodeBytes = 4u << 20;

// The maximum size of a stream that repeats one byte.  Source: chunk format, "Streams".
constexpr std::uint64_t kMaxRunBytes = 5;

}  // namespace

Result<std::shared_ptr<const codec::ChunkOffsets>> OverlayFrame::chunk_offsets() const {
  return std::make_shared<const codec::ChunkOffsets>(
      codec::ChunkOffsets::of_equal(overlay_.chunksize(), overlay_.nbytes()));
}

Result<std::shared_ptr<const codec::Chunk>> OverlayFrame::stored_chunk(ChunkIndex index) const {
  const auto entry = overlay_.entry(index.value);
  const auto make = [&]() -> Result<std::shared_ptr<const codec::Chunk>> {
    const auto& header = frame_->header();
    if (entry < 0) {
      FRAMEFS_TRY(const auto special, frame_->special_of(index, entry));
      FRAMEFS_TRY(auto made, codec::Chunk::make_special(special, overlay_.chunk_bytes(index.value),
                                                        header.typesize));
      return std::make_shared<const codec::Chunk>(std::move(made));
    }
    const auto at = codec::stored_offset(header, entry);
    if (services_.verify_checksums) {
      FRAMEFS_CHECK(checksums_->verify(*origin_.chunks, header, entry));
    }
    FRAMEFS_TRY(const auto available, origin_.chunks->available_from(at));
    FRAMEFS_TRY(auto made, codec::Chunk::open(*origin_.chunks, at, available, frame_->context(),
                                              services_.limits));
    return std::make_shared<const codec::Chunk>(std::move(made));
  };
  // A chunk that is not stored has the length that the frame gives it, and that length changes.
  const CacheKey key{
      .content = overlay_.content_id(index.value), .chunk = index.value, .kind = CacheKind::chunk};
  auto found = entry < 0 ? make() : services_.cache.get<codec::Chunk>(key, make);
  if (!found) log_failure(found.error(), index);
  return found;
}

Result<std::shared_ptr<const codec::Chunk>> OverlayFrame::chunk(ChunkIndex index,
                                                                std::uint64_t nbytes) const {
  if (overlay_.layers(index.value).any()) {
    return std::make_shared<const codec::Chunk>(
        codec::Chunk::make_plain(static_cast<std::uint32_t>(nbytes)));
  }
  FRAMEFS_TRY(auto stored, stored_chunk(index));
  if (const auto checked = check_nbytes(*stored, nbytes, origin_.type); !checked) {
    log_failure(checked.error(), index);
    return std::unexpected(checked.error());
  }
  return stored;
}

template <class Below>
Status OverlayFrame::read_layer(const DirtyChunk& layer, std::uint64_t offset,
                                std::span<std::byte> out, const Below& below) const {
  const auto begin = static_cast<std::uint32_t>(offset);
  const auto end = begin + static_cast<std::uint32_t>(out.size());
  Status status;
  layer.written().for_each(begin, end, [&](std::uint32_t from, std::uint32_t to, bool is_written) {
    auto part = out.subspan(from - begin, to - from);
    if (is_written) {
      layer.read(from, part);
      return;
    }
    const auto base = std::min(to, std::max(from, layer.base_bytes())) - from;
    std::ranges::fill(part.subspan(base), std::byte{0});
    if (base > 0 && status) status = below(from, part.first(base));
  });
  return status;
}

Status OverlayFrame::read_plain(const codec::Chunk& chunk, ChunkIndex index, std::uint64_t offset,
                                std::span<std::byte> out) const {
  const auto layers = overlay_.layers(index.value);
  if (!layers.any()) {
    auto read = origin_.chunks->read_at(chunk.plain_offset() + offset, out);
    if (!read) log_failure(read.error(), index);
    return read;
  }
  const auto stored = [&](std::uint64_t from, std::span<std::byte> part) {
    return read_stored(index, from, part);
  };
  const auto frozen = [&](std::uint64_t from, std::span<std::byte> part) {
    return layers.frozen != nullptr ? read_layer(*layers.frozen, from, part, stored)
                                    : stored(from, part);
  };
  return layers.dirty != nullptr ? read_layer(*layers.dirty, offset, out, frozen)
                                 : frozen(offset, out);
}

// Bytes that are taken over from a stored chunk get a new checksum, so damage must be found first.
Status OverlayFrame::verify_stored(ChunkIndex index) const {
  const auto entry = overlay_.entry(index.value);
  if (entry < 0) return {};
  auto verified = checksums_->verify(*origin_.chunks, frame_->header(), entry);
  if (!verified) log_failure(verified.error(), index);
  return verified;
}

Result<OverlayFrame::Storing> OverlayFrame::begin_storing(
    const ChunkOverlay::Frozen& frozen) const {
  const ChunkIndex index{frozen.chunk};
  Storing storing{.frozen = frozen,
                  .stored = nullptr,
                  .content = overlay_.content_id(index.value),
                  .first = nullptr};
  const auto base = frozen.bytes->base_bytes();
  if (frozen.bytes->written().covers(0, base)) return storing;
  FRAMEFS_CHECK(verify_stored(index));
  FRAMEFS_TRY(storing.stored, stored_chunk(index));
  if (storing.stored->body() == codec::ChunkBody::blocks && storing.stored->needs_first_block()) {
    FRAMEFS_TRY(storing.first, stored_block(storing, {0}));
  }
  return storing;
}

// A block of the stored chunk below a frozen one.  It does not enter the cache, because the stored
// chunk is about to be replaced.
Result<BlockFetcher::Block> OverlayFrame::stored_block(const Storing& chunk,
                                                       BlockIndex block) const {
  if (chunk.first && block.value == 0) return chunk.first;
  const ChunkIndex index{chunk.frozen.chunk};
  const auto first = chunk.first ? chunk.first->view() : std::span<const std::byte>{};
  auto fetched = services_.blocks.fetch_alone(*origin_.chunks,
                                              {chunk.stored, index, block, chunk.content}, first);
  if (fetched) return fetched;
  auto error = fetched.error();
  // Only the codec sees chunk files as one sequence; convert the place to an offset in the file.
  if (origin_.type == codec::FrameType::sparse) {
    error.at = codec::chunk_file_place(error.at).offset;
  }
  log_failure(error, index);
  return std::unexpected(error);
}

// Reads the stored chunk below a frozen one, in ascending order.
class OverlayFrame::StoredBytes {
 public:
  StoredBytes(const OverlayFrame& frame, const Storing& storing)
      : frame_(frame), storing_(storing), index_{storing.frozen.chunk} {}

  Status read(std::uint64_t offset, std::span<std::byte> out) {
    const auto& chunk = *storing_.stored;
    FRAMEFS_CHECK(frame_.check_holds(chunk, index_, offset + out.size()));
    switch (chunk.body()) {
      case codec::ChunkBody::special:
        chunk.fill(offset, out);
        return {};
      case codec::ChunkBody::plain: {
        auto read = frame_.origin_.chunks->read_at(chunk.plain_offset() + offset, out);
        if (!read) frame_.log_failure(read.error(), index_);
        return read;
      }
      case codec::ChunkBody::blocks:
        break;
    }
    for (const auto& [block, within] : plan_blocks(chunk, {offset, out.size()})) {
      FRAMEFS_CHECK(fetch(block));
      std::ranges::copy(bytes_->view().subspan(within.offset, within.size), out.begin());
      out = out.subspan(within.size);
    }
    return {};
  }

 private:
  // Gaps between written bytes often share a block.
  Status fetch(BlockIndex block) {
    if (bytes_ && block == block_) return {};
    bytes_ = nullptr;  // its memory serves the next block
    FRAMEFS_TRY(bytes_, frame_.stored_block(storing_, block));
    block_ = block;
    return {};
  }

  const OverlayFrame& frame_;
  const Storing& storing_;
  const ChunkIndex index_;
  BlockIndex block_;
  BlockFetcher::Block bytes_;
};

Status OverlayFrame::complete(const Storing& storing, std::uint32_t offset,
                              std::span<std::byte> out) const {
  auto& chunk = *storing.frozen.bytes;
  const auto own = chunk.whole(storing.frozen.nbytes);
  const bool is_own = !own.empty() && own.data() + offset == out.data();
  StoredBytes stored(*this, storing);
  Status status;
  const auto end = offset + static_cast<std::uint32_t>(out.size());
  chunk.written().for_each(offset, end, [&](auto from, auto to, bool is_written) {
    if (!status) return;
    const auto part = out.subspan(from - offset, to - from);
    if (is_written) {
      // Readers of the chunk read the written bytes meanwhile, so these are not written again.
      if (!is_own) chunk.read(from, part);
      return;
    }
    const auto base = std::min(to, std::max(from, chunk.base_bytes())) - from;
    std::ranges::fill(part.subspan(base), std::byte{0});
    if (base > 0) status = stored.read(from, part.first(base));
  });
  return status;
}

Result<std::optional<ChunkUpdate>> OverlayFrame::plan_update(
    const Storing& storing, const codec::EncodeParams& params) const {
  const auto& frozen = storing.frozen;
  const auto& written = frozen.bytes->written();
  const auto base = frozen.bytes->base_bytes();
  const auto& stored = storing.stored;
  if (!stored) return std::nullopt;
  FRAMEFS_TRY(auto plan, codec::ChunkPlan::make_update(params, frozen.nbytes, *stored));
  if (!plan) return std::nullopt;
  std::vector<bool> kept(plan->block_count());
  std::uint64_t kept_streams = 0;
  std::uint64_t kept_bytes = 0;
  for (codec::BlockIndex block; block.value < kept.size(); ++block.value) {
    const auto range = plan->block_range(block);
    const auto begin = static_cast<std::uint32_t>(range.offset);
    const auto end = static_cast<std::uint32_t>(range.offset + range.size);
    if (end > base || written.touches(begin, end) || !plan->fits(block, *stored)) continue;
    const auto place = stored->stored_range(block);
    if (!place) continue;
    kept[block.value] = true;
    kept_streams += plan->stream_count(block);
    kept_bytes += place->size;
  }
  // Blocks of repeated bytes cost next to nothing to decode.  The new chunk may even need no
  // blocks.
  if (kept_bytes <= kMaxRunBytes * kept_streams) return std::nullopt;
  return ChunkUpdate{std::move(*plan), stored, origin_.chunks.get(), std::move(kept)};
}

Status OverlayFrame::check_holds(const codec::Chunk& chunk, ChunkIndex index,
                                 std::uint64_t end) const {
  if (end <= chunk.nbytes()) return {};
  const auto short_chunk = check_nbytes(chunk, end, origin_.type);
  log_failure(short_chunk.error(), index);
  return short_chunk;
}

Status OverlayFrame::read_stored(ChunkIndex index, std::uint64_t offset,
                                 std::span<std::byte> out) const {
  FRAMEFS_TRY(const auto chunk, stored_chunk(index));
  FRAMEFS_CHECK(check_holds(*chunk, index, offset + out.size()));
  switch (chunk->body()) {
    case codec::ChunkBody::special:
      chunk->fill(offset, out);
      return {};
    case codec::ChunkBody::plain: {
      auto read = origin_.chunks->read_at(chunk->plain_offset() + offset, out);
      if (!read) log_failure(read.error(), index);
      return read;
    }
    case codec::ChunkBody::blocks:
      break;
  }
  while (!out.empty()) {
    const auto take = std::min<std::uint64_t>(out.size(), kDecodeBytes);
    FRAMEFS_CHECK(read_blocks(chunk, index, offset, out.first(take)));
    out = out.subspan(take);
    offset += take;
  }
  return {};
}

Status OverlayFrame::read_blocks(const std::shared_ptr<const codec::Chunk>& chunk, ChunkIndex index,
                                 std::uint64_t offset, std::span<std::byte> out) const {
  const auto pieces = plan_blocks(*chunk, {offset, out.size()});
  std::vector<BlockRequest> requests;
  requests.reserve(pieces.size());
  for (const auto& piece : pieces) requests.push_back(request(chunk, index, piece.block));
  const auto admission = services_.cache.admissions().admit(needed_bytes(requests));
  FRAMEFS_TRY(const auto blocks, fetch(requests));
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const auto [at, size] = pieces[i].within;
    std::ranges::copy(blocks[i]->view().subspan(at, size), out.begin());
    out = out.subspan(size);
  }
  return {};
}

Result<std::uint64_t> OverlayFrame::find_chunk(bool hole, std::uint64_t first,
                                               std::uint64_t end) const {
  for (; first < end; ++first) {
    const bool is_hole =
        !overlay_.layers(first).any() && frame_->is_zero_entry(overlay_.entry(first));
    if (is_hole == hole) break;
  }
  return first;
}

}  // namespace framefs::fs
