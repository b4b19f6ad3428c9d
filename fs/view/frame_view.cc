#include "fs/view/frame_view.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include <fmt/core.h>

namespace framefs::fs {
namespace {

// Index entries are decoded and kept so many at a time.
constexpr std::uint64_t kWindowEntries = 8192;

// What zero chunks are served from, however long they are.
constexpr std::size_t kZeroBytes = 64u << 10;
const std::array<std::byte, kZeroBytes> kZeros{};

struct IndexWindow {
  std::vector<std::int64_t> entries;
  [[nodiscard]] std::uint64_t memory_bytes() const noexcept {
    return sizeof(*this) + entries.capacity() * sizeof(std::int64_t);
  }
};

}  // namespace

// A read in the making: finished spans in order, with gaps where blocks will come.
struct FrameView::Plan {
  struct Gap {
    std::size_t span;  // which of result.spans
    ByteRange within;  // of the block
  };
  ReadResult result;
  std::vector<BlockRequest> requests;
  std::vector<Gap> gaps;  // one for each request
};

FrameView::FrameView(std::shared_ptr<const FileSource> source, std::uint64_t state_id,
                     std::string name, const ReadServices& services)
    : source_(std::move(source)),
      state_id_(state_id),
      name_(std::move(name)),
      services_(services),
      frame_(codec::Frame::open(*source_, services_.limits)) {
  if (!frame_) log_failure(frame_.error(), std::nullopt);
}

void FrameView::log_failure(const Error& error, std::optional<ChunkIndex> chunk) const {
  services_.log.failure(chunk ? fmt::format("{}: chunk {}", name_, chunk->value) : name_, error);
}

Result<std::int64_t> FrameView::index_entry(ChunkIndex chunk) const {
  const std::uint64_t window = chunk.value / kWindowEntries;
  const CacheKey key{.file = state_id_, .chunk = window, .kind = CacheKind::index_window};
  const auto make = [&]() -> Result<std::shared_ptr<const IndexWindow>> {
    const std::uint64_t begin = window * kWindowEntries;
    auto made = std::make_shared<IndexWindow>();
    made->entries.resize(std::min(kWindowEntries, frame_->chunk_count() - begin));
    FRAMEFS_CHECK(frame_->read_entries(*source_, {begin}, made->entries));
    return made;
  };
  FRAMEFS_TRY(const auto entries, services_.cache.get<IndexWindow>(key, make));
  return entries->entries[chunk.value % kWindowEntries];
}

Result<std::shared_ptr<const codec::ChunkBegins>> FrameView::chunk_begins() const {
  const CacheKey key{.file = state_id_, .kind = CacheKind::chunk_begins};
  const auto make = [&]() -> Result<std::shared_ptr<const codec::ChunkBegins>> {
    const auto entry_of = [this](ChunkIndex chunk) { return index_entry(chunk); };
    FRAMEFS_TRY(auto made, codec::ChunkBegins::make(*frame_, *source_, entry_of, services_.limits));
    return std::make_shared<const codec::ChunkBegins>(std::move(made));
  };
  return services_.cache.get<codec::ChunkBegins>(key, make);
}

Result<std::shared_ptr<const codec::Chunk>> FrameView::chunk(
    const codec::ChunkBegins::Place& place) const {
  const CacheKey key{.file = state_id_, .chunk = place.chunk.value, .kind = CacheKind::chunk};
  const auto make = [&]() -> Result<std::shared_ptr<const codec::Chunk>> {
    FRAMEFS_TRY(const auto entry, index_entry(place.chunk));
    FRAMEFS_TRY(auto opened, frame_->open_chunk(*source_, place.chunk, entry, services_.limits));
    // The header was read once before where chunks vary in size, and the file may have changed
    // since.
    if (opened.nbytes() != place.range.size) {
      constexpr std::uint64_t kNbytesAt = 4;
      const auto chunk_at = frame_->header().header_len + static_cast<std::uint64_t>(entry);
      return codec::fail_value(Errc::bad_field, "nbytes of the chunk", chunk_at + kNbytesAt,
                               opened.nbytes());
    }
    return std::make_shared<const codec::Chunk>(std::move(opened));
  };
  return services_.cache.get<codec::Chunk>(key, make);
}

// Chunks of which no block needs decoding.
Status FrameView::plan_by_rule(Plan& plan, const codec::Chunk& chunk, ByteRange wanted) const {
  auto& spans = plan.result.spans;
  if (chunk.body() == codec::ChunkBody::special && chunk.is_zero()) {
    while (wanted.size > 0) {
      const auto take = std::min<std::uint64_t>(wanted.size, kZeroBytes);
      spans.push_back(std::span(kZeros).first(take));
      wanted.size -= take;
    }
    return {};
  }
  auto bytes = std::make_shared<Bytes>(services_.buffers, wanted.size);
  if (chunk.body() == codec::ChunkBody::special) {
    chunk.fill(wanted.offset, bytes->writable());
  } else {
    FRAMEFS_CHECK(source_->read_at(chunk.plain_offset() + wanted.offset, bytes->writable()));
  }
  spans.push_back(bytes->view());
  plan.result.owners.push_back(std::move(bytes));
  return {};
}

Status FrameView::plan_chunk(Plan& plan, const codec::ChunkBegins::Place& place,
                             ByteRange wanted) const {
  FRAMEFS_TRY(const auto opened, chunk(place));
  if (opened->body() != codec::ChunkBody::blocks) return plan_by_rule(plan, *opened, wanted);
  for (const auto& piece : plan_blocks(*opened, wanted)) {
    plan.gaps.push_back({plan.result.spans.size(), piece.within});
    plan.requests.push_back({opened, place.chunk, piece.block});
    plan.result.spans.emplace_back();
  }
  return {};
}

Result<ReadResult> FrameView::read(std::uint64_t offset, std::uint64_t size) const {
  if (!frame_) return std::unexpected(frame_.error());
  Plan plan;
  if (offset >= frame_->nbytes()) return std::move(plan.result);
  std::uint64_t left = std::min(size, frame_->nbytes() - offset);
  if (left == 0) return std::move(plan.result);

  const auto begins = chunk_begins();
  if (!begins) {
    log_failure(begins.error(), std::nullopt);
    return std::unexpected(begins.error());
  }
  while (left > 0) {
    const auto place = (*begins)->find(offset);
    if (!place) {
      log_failure(place.error(), std::nullopt);
      return std::unexpected(place.error());
    }
    const std::uint64_t skip = offset - place->range.offset;
    const auto take = std::min(place->range.size - skip, left);
    if (const auto planned = plan_chunk(plan, *place, {skip, take}); !planned) {
      log_failure(planned.error(), place->chunk);
      return std::unexpected(planned.error());
    }
    offset += take;
    left -= take;
  }
  FRAMEFS_CHECK(fill_gaps(plan));
  return std::move(plan.result);
}

Status FrameView::fill_gaps(Plan& plan) const {
  if (plan.requests.empty()) return {};
  plan.result.admission = services_.cache.admit(BlockFetcher::needed_bytes(plan.requests));
  auto blocks = services_.blocks.fetch(*source_, state_id_, plan.requests);
  if (!blocks) {
    log_failure(blocks.error().error, blocks.error().chunk);
    return std::unexpected(blocks.error().error);
  }
  for (std::size_t i = 0; i < blocks->size(); ++i) {
    const auto [span, within] = plan.gaps[i];
    const auto whole = (*blocks)[i]->view();
    plan.result.spans[span] = whole.subspan(within.offset, within.size);
    plan.result.owners.push_back(std::move((*blocks)[i]));
    if (within.offset + within.size == whole.size())
      plan.result.served.add(services_.cache, BlockFetcher::key_of(state_id_, plan.requests[i]));
  }
  return {};
}

}  // namespace framefs::fs
