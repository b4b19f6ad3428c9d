#include "fs/view/cached_frame.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include <fmt/core.h>

#include "codec/frame/chunk_space.h"
#include "fs/read/range_plan.h"

namespace framefs::fs {

struct CachedFrame::IndexWindow {
  std::vector<std::int64_t> entries;
  [[nodiscard]] std::uint64_t memory_bytes() const noexcept {
    return sizeof(*this) + entries.capacity() * sizeof(std::int64_t);
  }
};

void log_frame_failure(Log& log, const std::string& name, const Error& error,
                       std::optional<ChunkIndex> chunk) {
  log.failure(name, chunk ? fmt::format("chunk {}", chunk->value) : "", error);
}

Status check_nbytes(const codec::Chunk& chunk, std::uint64_t nbytes, codec::FrameType type) {
  if (chunk.nbytes() == nbytes) return {};
  constexpr std::uint64_t kNbytesAt = 4;
  const bool is_own_file = type == codec::FrameType::sparse;
  const auto chunk_at = is_own_file ? 0 : chunk.plain_offset() - chunk.header().header_bytes();
  return codec::fail_value(Errc::bad_field, "nbytes of the chunk", chunk_at + kNbytesAt,
                           chunk.nbytes());
}

Result<std::vector<BlockFetcher::Block>> fetch_blocks(const FrameOrigin& origin,
                                                      const ReadServices& services,
                                                      std::span<const BlockRequest> requests) {
  auto blocks = services.blocks.fetch(*origin.chunks, requests);
  if (blocks) return std::move(*blocks);
  auto [error, chunk] = blocks.error();
  const auto is_group = [](const BlockRequest& request) { return request.group != nullptr; };
  if (std::ranges::any_of(requests, is_group)) return std::unexpected(error);
  // Only the codec sees chunk files as one sequence; convert the place to an offset in the file.
  if (origin.type == codec::FrameType::sparse) {
    error.at = codec::chunk_file_place(error.at).offset;
  }
  log_frame_failure(services.log, origin.name, error, chunk);
  return std::unexpected(error);
}

CachedFrame::CachedFrame(FrameOrigin origin, ContentId content_id, const ReadServices& services)
    : origin_(std::move(origin)),
      content_id_(content_id),
      services_(services),
      opened_(open(origin_, services_)),
      // The chunks of a far frame are announced and fetched one by one: see expect().
      chunks_per_group_(frame_ && !is_far() ? codec::ChunkGroup::chunks_per_group(*frame_) : 0) {
  if (!frame_) log_failure(frame_.error(), std::nullopt);
}

// A frame whose checksums are damaged cannot be verified.
auto CachedFrame::open(const FrameOrigin& origin, const ReadServices& services) -> Opened {
  Opened opened{open_frame_at(origin, services.limits), {}};
  if (opened.frame) {
    // Not even the .npy header of a recipe is shown: it would promise values.
    if (const auto held = opened.frame->data_place().check_holds_data(); !held) {
      opened.frame = std::unexpected(held.error());
    }
  }
  if (!opened.frame || !services.verify_checksums) return opened;
  auto checksums = codec::read_checksums(*opened.frame, *origin.source, services.limits);
  if (checksums) {
    opened.checksums = std::move(*checksums);
  } else {
    opened.frame = std::unexpected(checksums.error());
  }
  return opened;
}

auto CachedFrame::index_window(std::uint64_t window) const
    -> Result<std::shared_ptr<const IndexWindow>> {
  const CacheKey key{.content = content_id_, .chunk = window, .kind = CacheKind::index_window};
  const auto make = [&]() -> Result<std::shared_ptr<const IndexWindow>> {
    const std::uint64_t begin = window * frame_->window_entries();
    auto made = std::make_shared<IndexWindow>();
    made->entries.resize(std::min(frame_->window_entries(), frame_->chunk_count() - begin));
    FRAMEFS_CHECK(frame_->read_entries(*origin_.source, {begin}, made->entries));
    return made;
  };
  return services_.cache.get<IndexWindow>(key, make);
}

Result<std::int64_t> CachedFrame::index_entry(ChunkIndex chunk) const {
  const auto most = frame_->window_entries();
  FRAMEFS_TRY(const auto window, index_window(chunk.value / most));
  return window->entries[chunk.value % most];
}

Result<std::shared_ptr<const codec::ChunkOffsets>> CachedFrame::chunk_offsets() const {
  const CacheKey key{.content = content_id_, .kind = CacheKind::chunk_offsets};
  const auto make = [&]() -> Result<std::shared_ptr<const codec::ChunkOffsets>> {
    const auto entry_of = [this](ChunkIndex chunk) { return index_entry(chunk); };
    FRAMEFS_TRY(auto made,
                codec::ChunkOffsets::make(*frame_, *origin_.chunks, entry_of, services_.limits));
    return std::make_shared<const codec::ChunkOffsets>(std::move(made));
  };
  auto begins = services_.cache.get<codec::ChunkOffsets>(key, make);
  if (!begins) log_failure(begins.error(), std::nullopt);
  return begins;
}

Result<std::shared_ptr<const codec::FetchedBlocks>> CachedFrame::fetched() const {
  if (!frame_->data_place().is_remote_cache()) return nullptr;
  const CacheKey key{.content = content_id_, .kind = CacheKind::fetched_blocks};
  const auto make = [&]() -> Result<std::shared_ptr<const codec::FetchedBlocks>> {
    FRAMEFS_TRY(auto made, frame_->read_fetched(*origin_.source, services_.limits));
    return std::make_shared<const codec::FetchedBlocks>(std::move(made).value());
  };
  return services_.cache.get<codec::FetchedBlocks>(key, make);
}

// The place of a stored chunk, up to the next chunk or to the index.
std::optional<ByteRange> CachedFrame::stored_bound(ChunkIndex chunk) const {
  const auto most = frame_->window_entries();
  const auto window = index_window(chunk.value / most);
  if (!window) return std::nullopt;
  const auto& entries = (*window)->entries;
  const auto entry = entries[chunk.value % most];
  const auto& header = frame_->header();
  if (entry < 0 || std::cmp_greater_equal(entry, header.cbytes)) return std::nullopt;
  auto end = header.cbytes;
  for (const auto other : entries) {
    if (other > entry) end = std::min(end, static_cast<std::uint64_t>(other));
  }
  const auto offset = static_cast<std::uint64_t>(entry);
  return ByteRange{header.header_len + offset, end - offset};
}

// The stored bytes of the blocks that are not decoded yet.
void CachedFrame::add_blocks(std::vector<ByteRange>& ranges, const codec::Chunk& chunk,
                             const Touch& touch) const {
  // The chunk may be damaged, which the read itself reports.
  const auto [begin, size] = touch.within;
  if (begin > chunk.nbytes() || size > chunk.nbytes() - begin) return;
  if (chunk.body() == codec::ChunkBody::plain) {
    ranges.push_back({chunk.plain_offset() + touch.within.offset, touch.within.size});
  }
  if (chunk.body() != codec::ChunkBody::blocks) return;
  for (BlockPieces pieces(chunk, touch.within); pieces.next();) {
    const auto block = pieces.piece().block;
    const CacheKey key{.content = content_id_,
                       .chunk = touch.chunk.value,
                       .block = static_cast<std::uint32_t>(block.value),
                       .kind = CacheKind::block};
    if (services_.cache.knows(key)) continue;
    const auto stored = chunk.stored_range(block);
    if (!stored) continue;
    if (!ranges.empty() && ranges.back().offset + ranges.back().size == stored->offset) {
      ranges.back().size += stored->size;
    } else {
      ranges.push_back(*stored);
    }
  }
}

std::vector<ByteRange> CachedFrame::stored_ranges(std::span<const Touch> touches,
                                                  bool goes_on) const {
  auto shape = shape_.with([](const ChunkShape& known) { return known; });
  const auto advised = frame_->header().blocksize;
  if (shape.block_bytes == 0 && advised > 0) {
    shape.block_bytes = static_cast<std::uint64_t>(advised);
  }
  std::vector<ByteRange> ranges;
  for (const auto& touch : touches) {
    const auto value = services_.cache.find(chunk_key(touch.chunk));
    if (const auto known = std::static_pointer_cast<const codec::Chunk>(value)) {
      add_blocks(ranges, *known, touch);
      continue;
    }
    // Each chunk of a sparse frame is an object of its own, and opening it fetches its head.
    if (origin_.type == codec::FrameType::sparse) continue;
    const auto stored = stored_bound(touch.chunk);
    if (!stored) continue;
    std::ranges::copy(first_touch_ranges({*stored, touch.nbytes, touch.within, goes_on}, shape),
                      std::back_inserter(ranges));
  }
  return ranges;
}

void CachedFrame::expect(std::span<const Touch> now, std::span<const Touch> next) const {
  if (!is_far() || !frame_) return;
  const auto now_ranges = stored_ranges(now, !next.empty());
  const auto next_ranges = stored_ranges(next, true);
  if (now_ranges.empty() && next_ranges.empty()) return;
  origin_.chunks->expect(now_ranges, next_ranges);
}

// Chunks of one entry are one stored chunk.  A small frame may have a million of them, whose tables
// and dictionary are then made once.  Checksums, and the record of fetched blocks, are those of an
// index.
CacheKey CachedFrame::chunk_key(ChunkIndex chunk, std::int64_t entry) const {
  const bool is_shared = entry >= 0 && !is_far() && !frame_->data_place().is_remote_cache() &&
                         opened_.checksums.state == codec::FrameChecksums::State::none;
  if (!is_shared) return chunk_key(chunk);
  return {.content = content_id_,
          .chunk = static_cast<std::uint64_t>(entry),
          .kind = CacheKind::stored_chunk};
}

Result<std::shared_ptr<const codec::Chunk>> CachedFrame::chunk(ChunkIndex index,
                                                               std::uint64_t nbytes) const {
  const auto entry = index_entry(index);
  if (!entry) {
    log_failure(entry.error(), index);
    return std::unexpected(entry.error());
  }
  const auto make = [&]() -> Result<std::shared_ptr<const codec::Chunk>> {
    FRAMEFS_CHECK(
        verify_chunk(*origin_.chunks, frame_->header(), *entry, opened_.checksums.of(index)));
    FRAMEFS_TRY(const auto record, fetched());
    FRAMEFS_TRY(auto opened,
                frame_->open_chunk(*origin_.chunks, index, *entry, services_.limits, record.get()));
    if (is_far() && opened.body() == codec::ChunkBody::blocks && !opened.header().vl_blocks) {
      const auto opened_shape = shape_of(opened);
      shape_.with([&](ChunkShape& shape) { shape = opened_shape; });
    }
    return std::make_shared<const codec::Chunk>(std::move(opened));
  };
  auto found = services_.cache.get<codec::Chunk>(chunk_key(index, *entry), make);
  // If chunks vary in size, the header was read before, and the file may have changed since.
  if (found) {
    if (const auto fits = check_nbytes(**found, nbytes, origin_.type); !fits) {
      found = std::unexpected(fits.error());
    }
  }
  if (!found) log_failure(found.error(), index);
  return found;
}

bool CachedFrame::knows_group(ChunkIndex first) const {
  return services_.cache.knows(
      {.content = content_id_, .chunk = first.value, .kind = CacheKind::chunk_group});
}

Result<BlockRequest> CachedFrame::group_request(ChunkIndex first) const {
  const auto most = frame_->window_entries();
  const auto end = std::min(first.value + chunks_per_group_, frame_->chunk_count());
  const auto count = end - first.value;
  std::vector<std::int64_t> entries;
  entries.reserve(count);
  for (auto next = first.value; next < end;) {
    FRAMEFS_TRY(const auto window, index_window(next / most));
    const auto some = std::span(window->entries).subspan(next % most);
    const auto taken = some.first(std::min<std::uint64_t>(some.size(), end - next));
    entries.insert(entries.end(), taken.begin(), taken.end());
    next += taken.size();
  }
  auto group = std::make_shared<const codec::ChunkGroup>(
      *frame_, services_.limits, first, std::move(entries), opened_.checksums.of(first, count));
  return BlockRequest{nullptr, first, {}, content_id_, std::move(group)};
}

Status CachedFrame::read_plain(const codec::Chunk& chunk, ChunkIndex index, std::uint64_t offset,
                               std::span<std::byte> out) const {
  auto read = origin_.chunks->read_at(chunk.plain_offset() + offset, out);
  if (!read) log_failure(read.error(), index);
  return read;
}

Result<std::uint64_t> CachedFrame::find_chunk(bool hole, std::uint64_t first,
                                              std::uint64_t end) const {
  const auto most = frame_->window_entries();
  while (first < end) {
    const auto window = index_window(first / most);
    if (!window) {
      log_failure(window.error(), ChunkIndex{first});
      return std::unexpected(window.error());
    }
    const auto& entries = (*window)->entries;
    for (auto at = first % most; at < entries.size() && first < end; ++at, ++first) {
      if (frame_->is_zero_entry(entries[at]) == hole) return first;
    }
  }
  return end;
}

}  // namespace framefs::fs
