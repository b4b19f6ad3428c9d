#include "fs/view/frame_view.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <optional>
#include <utility>
#include <vector>

#include "fs/read/range_plan.h"

namespace framefs::fs {
namespace {

// Zero chunks of any length are served from this buffer.
const std::array<std::byte, 64u << 10> kZeros{};

// The limit of pieces in a reply. One system call sends them all. The limit also bounds the blocks
// and chunks that a read pins, however small they are.
constexpr std::size_t kMaxPieces = 1000;
// With more blocks, read-ahead costs more than it saves.
constexpr std::size_t kMaxBlocksAhead = 4096;

// The limit of small chunks that are requested together.  It bounds the memory of their index
// entries.
constexpr std::uint64_t kMaxGroupedChunks = 1u << 16;
// A shorter read decodes its chunks one by one, if they are not decoded yet: it may be one of many
// at random, which need only a small part of each group.
constexpr std::uint64_t kMinGroupedBytes = 64u << 10;

// The limit of index entries that one seek examines.
constexpr std::uint64_t kMaxProbedChunks = 1u << 22;

}  // namespace

// The plan of a read: finished spans in order, with gaps for the blocks that are still to be
// decoded.
struct FrameView::Plan {
  struct Gap {
    std::size_t span;  // index into result.spans
    ByteRange within;  // range in the block
  };
  ReadResult result;
  std::vector<BlockRequest> requests;
  std::vector<Gap> gaps;    // one for each request
  std::uint64_t bytes = 0;  // total of the spans, gaps included
  HeldTables tables;
  [[nodiscard]] bool is_full() const noexcept {
    return result.spans.size() >= kMaxPieces || tables.is_full();
  }
  // Adds as many zeros as fit.
  void add_zeros(std::uint64_t size) {
    while (size > 0 && !is_full()) {
      const auto take = std::min<std::uint64_t>(size, kZeros.size());
      result.spans.push_back(std::span(kZeros).first(take));
      bytes += take;
      size -= take;
    }
  }
  void add_gap(BlockRequest request, ByteRange within) {
    gaps.push_back({result.spans.size(), within});
    bytes += within.size;
    requests.push_back(std::move(request));
    result.spans.emplace_back();
  }
};

// Plans a chunk whose blocks need no decoding.
Status FrameView::plan_without_decoding(Plan& plan, const codec::Chunk& chunk, ChunkIndex index,
                                        ByteRange wanted) const {
  if (chunk.body() == codec::ChunkBody::special && chunk.is_zero()) {
    plan.add_zeros(wanted.size);
    return {};
  }
  auto bytes = std::make_shared<Bytes>(frame_->services().buffers, wanted.size);
  if (chunk.body() == codec::ChunkBody::special) {
    chunk.fill(wanted.offset, bytes->writable());
  } else {
    FRAMEFS_CHECK(frame_->read_plain(chunk, index, wanted.offset, bytes->writable()));
  }
  plan.result.spans.push_back(bytes->view());
  plan.bytes += wanted.size;
  plan.result.owners.push_back(std::move(bytes));
  return {};
}

Status FrameView::plan_chunk(Plan& plan, const codec::ChunkOffsets::Place& place,
                             ByteRange wanted) const {
  FRAMEFS_TRY(const auto opened, frame_->chunk(place.chunk, place.range.size));
  FRAMEFS_CHECK(frame_->check_fetched(place.chunk, *opened, wanted));
  if (opened->body() != codec::ChunkBody::blocks) {
    return plan_without_decoding(plan, *opened, place.chunk, wanted);
  }
  const auto has_room = [&] { return plan.result.spans.size() < kMaxPieces; };
  for (BlockPieces pieces(*opened, wanted); has_room() && pieces.next();) {
    const auto& piece = pieces.piece();
    plan.add_gap(frame_->request(opened, place.chunk, piece.block), piece.within);
  }
  plan.tables.add(*opened);
  return {};
}

// Calls body(place, within) -> Result<bool> for the chunks that `wanted` touches, until the frame
// ends or body() returns false.
template <class Body>
Status FrameView::for_each_chunk(ByteRange wanted, const Body& body) const {
  const std::uint64_t nbytes = frame_->nbytes();
  if (wanted.offset >= nbytes) return {};
  std::uint64_t offset = wanted.offset;
  std::uint64_t left = std::min(wanted.size, nbytes - offset);
  if (left == 0) return {};

  FRAMEFS_TRY(const auto begins, frame_->chunk_offsets());
  while (left > 0) {
    const auto place = begins->find(offset);
    if (!place) {
      frame_->log_failure(place.error(), std::nullopt);
      return std::unexpected(place.error());
    }
    const std::uint64_t skip = offset - place->range.offset;
    const auto take = std::min(place->range.size - skip, left);
    FRAMEFS_TRY(const bool goes_on, body(*place, ByteRange{skip, take}));
    if (!goes_on) return {};
    offset += take;
    left -= take;
  }
  return {};
}

std::vector<FrameChunks::Touch> FrameView::touches(ByteRange range, std::size_t max) const {
  std::vector<FrameChunks::Touch> found;
  // An error is reported by the read itself.
  static_cast<void>(for_each_chunk(range, [&](const auto& place, ByteRange within) {
    found.push_back({place.chunk, place.range.size, within});
    return Result<bool>(found.size() < max);
  }));
  return found;
}

void FrameView::expect_chunks(ByteRange wanted) const {
  if (frame_->is_far()) frame_->expect(touches(wanted, kMaxPieces), {});
}

void FrameView::expect(ByteRange now, std::span<const ByteRange> next) const {
  // To find the place of each takes a look at a part of the index.
  constexpr std::size_t kMaxChunksAhead = 32;
  // Without a forecast, the read announces enough.  Groups of small chunks are large.
  const bool is_of_use = is_readable() && frame_->is_far() && !next.empty();
  if (!is_of_use || frame_->chunks_per_group() != 0) return;
  frame_->expect(touches(now, kMaxPieces), touches(next.front(), kMaxChunksAhead));
}

// Reads the first part of `wanted`, up to the limit of pieces in a reply.
Result<FrameView::Plan> FrameView::read_some(ByteRange wanted) const {
  if (is_worth_groups(wanted)) {
    auto grouped = read_groups(wanted);
    if (grouped || codec::is_work_error(grouped.error())) return grouped;
    // One chunk may be damaged.  The others are read, and the damaged one is reported, below.
  }
  expect_chunks(wanted);
  Plan plan;
  const auto plan_next = [&](const auto& place, ByteRange within) -> Result<bool> {
    FRAMEFS_CHECK(plan_chunk(plan, place, within));
    return !plan.is_full();
  };
  FRAMEFS_CHECK(for_each_chunk(wanted, plan_next));
  FRAMEFS_CHECK(fill_gaps(plan, wanted));
  return plan;
}

// Calls body(first, within) -> Result<bool> for the groups that `wanted` touches, until the frame
// ends or body() returns false.  `first` is the first chunk of the group, `within` a range of its
// decoded bytes.
template <class Body>
Status FrameView::for_each_group(ByteRange wanted, const Body& body) const {
  const auto nbytes = frame_->nbytes();
  const auto chunks = frame_->chunks_per_group();
  const auto group_bytes = chunks * frame_->frame()->header().chunksize;
  auto offset = std::min(wanted.offset, nbytes);
  auto left = std::min(wanted.size, nbytes - offset);
  while (left > 0) {
    const auto skip = offset % group_bytes;
    const auto take = std::min(group_bytes - skip, left);
    FRAMEFS_TRY(const bool goes_on,
                body(ChunkIndex{offset / group_bytes * chunks}, ByteRange{skip, take}));
    if (!goes_on) return {};
    offset += take;
    left -= take;
  }
  return {};
}

bool FrameView::is_worth_groups(ByteRange wanted) const {
  if (frame_->chunks_per_group() == 0) return false;
  if (wanted.size >= kMinGroupedBytes) return true;
  bool knows_all = true;
  const auto ask = [&](ChunkIndex first, ByteRange) -> Result<bool> {
    knows_all = frame_->knows_group(first);
    return knows_all;
  };
  return for_each_group(wanted, ask) && knows_all;
}

// As read_some(), but without the first part of a read if a later part fails.
Result<FrameView::Plan> FrameView::read_groups(ByteRange wanted) const {
  Plan plan;
  std::uint64_t chunks = 0;
  const auto plan_next = [&](ChunkIndex first, ByteRange within) -> Result<bool> {
    FRAMEFS_TRY(auto request, frame_->group_request(first));
    if (request.group->is_zero()) {
      plan.add_zeros(within.size);
    } else {
      plan.add_gap(std::move(request), within);
    }
    chunks += frame_->chunks_per_group();
    return chunks < kMaxGroupedChunks && !plan.is_full();
  };
  FRAMEFS_CHECK(for_each_group(wanted, plan_next));
  FRAMEFS_CHECK(fetch_gaps(plan));
  return plan;
}

Result<ReadResult> FrameView::read(std::uint64_t offset, std::uint64_t size, Access) const {
  const auto& frame = frame_->frame();
  if (!frame) return std::unexpected(frame.error());
  const auto all = frame_->nbytes();
  size = std::min(size, all - std::min(all, offset));
  FRAMEFS_TRY(auto first, read_some({offset, size}));
  if (first.bytes == size) return std::move(first.result);
  return read_joined({offset, size}, std::move(first));
}

// Reads a range of very small blocks or chunks: batch by batch, copied into one buffer.
Result<ReadResult> FrameView::read_joined(ByteRange wanted, Plan first) const {
  auto joined = std::make_shared<Bytes>(frame_->services().buffers, wanted.size);
  auto out = joined->writable();
  std::optional<Plan> some = std::move(first);
  while (true) {
    for (const auto span : some->result.spans) {
      std::ranges::copy(span, out.begin());
      out = out.subspan(span.size());
    }
    const bool is_end = some->bytes == 0;  // the frame has become shorter
    wanted.offset += some->bytes;
    wanted.size -= some->bytes;
    some.reset();  // unpins before the next batch is admitted
    if (wanted.size == 0 || is_end) break;
    FRAMEFS_TRY(auto next, read_some(wanted));
    some.emplace(std::move(next));
  }
  ReadResult result;
  result.spans.push_back(joined->view().first(joined->view().size() - out.size()));
  result.owners.push_back(std::move(joined));
  return result;
}

bool FrameView::decode_ahead(ByteRange range) const {
  if (range.offset >= decoded_bytes()) return false;
  if (frame_->chunks_per_group() != 0) return groups_ahead(range);
  expect_chunks(range);
  std::vector<BlockRequest> requests;
  std::size_t chunks = 0;
  HeldTables tables;
  const auto is_many = [&] {
    return requests.size() + chunks > kMaxBlocksAhead || tables.is_full();
  };
  const auto planned =
      for_each_chunk(range, [&](const auto& place, ByteRange within) -> Result<bool> {
        ++chunks;
        FRAMEFS_TRY(const auto opened, frame_->chunk(place.chunk, place.range.size));
        tables.add(*opened);
        if (opened->body() != codec::ChunkBody::blocks) return !is_many();
        for (BlockPieces pieces(*opened, within); !is_many() && pieces.next();) {
          requests.push_back(frame_->request(opened, place.chunk, pieces.piece().block));
        }
        return !is_many();
      });
  return planned && !is_many() && frame_->fetch_ahead(requests);
}

bool FrameView::groups_ahead(ByteRange range) const {
  std::vector<BlockRequest> requests;
  std::uint64_t chunks = 0;
  const auto planned = for_each_group(range, [&](ChunkIndex first, ByteRange) -> Result<bool> {
    chunks += frame_->chunks_per_group();
    if (frame_->knows_group(first)) return true;
    FRAMEFS_TRY(auto request, frame_->group_request(first));
    if (!request.group->is_zero()) requests.push_back(std::move(request));
    return chunks < kMaxGroupedChunks;
  });
  return planned && chunks < kMaxGroupedChunks && frame_->fetch_ahead(requests);
}

Status FrameView::fill_gaps(Plan& plan, ByteRange wanted) const {
  auto& [admission, served, owners, spans, hot] = plan.result;
  if (plan.requests.size() == 1) {
    const auto [span, within] = plan.gaps.front();
    auto part = frame_->fetch_part(plan.requests.front(), within);
    if (part.bytes) {
      spans[span] = part.bytes->view();
      owners.push_back(std::move(part.bytes));
      return {};
    }
    if (part.is_hot && spans.size() == 1) {
      hot = frame_->hot_block(plan.requests.front(), wanted.offset - within.offset);
    }
  }
  return fetch_gaps(plan);
}

Status FrameView::fetch_gaps(Plan& plan) const {
  if (plan.requests.empty()) return {};
  auto& [admission, served, owners, spans, hot] = plan.result;
  admission = frame_->services().cache.admissions().admit(needed_bytes(plan.requests));
  FRAMEFS_TRY(auto blocks, frame_->fetch(plan.requests));
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const auto [span, within] = plan.gaps[i];
    const auto whole = blocks[i]->view();
    spans[span] = whole.subspan(within.offset, within.size);
    if (hot) hot->bytes = blocks[i];
    owners.push_back(std::move(blocks[i]));
    // The block may be evicted: its last byte is in this reply, and the kernel has read the bytes
    // before it or does not need them.
    const bool is_end = within.offset + within.size == whole.size();
    if (is_end) frame_->release_with(served, plan.requests[i]);
  }
  return {};
}

Result<std::uint64_t> FrameView::seek(Seek what, std::uint64_t offset) const {
  const auto& frame = frame_->frame();
  if (!frame) return std::unexpected(frame.error());
  const std::uint64_t nbytes = frame_->nbytes();
  if (offset >= nbytes) return system_error_of(ENXIO, "seek");
  // If chunks vary in size, none counts as a hole: only a stored header tells the size of a chunk.
  const bool is_hole = what == Seek::hole;
  if (frame->header().has_variable_chunks()) return is_hole ? nbytes : offset;
  // The header of an empty frame may lack the size that its first writer has chosen.
  FRAMEFS_TRY(const auto begins, frame_->chunk_offsets());
  FRAMEFS_TRY(const auto place, begins->find(offset));
  const auto first = place.chunk.value;
  // No chunk lies behind the last one, which alone may be shorter.
  const auto begin_of = [&](std::uint64_t chunk) {
    return place.range.offset + (chunk - first) * place.range.size;
  };
  const std::uint64_t chunks = frame_->chunk_count();
  const std::uint64_t end = first + std::min(chunks - std::min(first, chunks), kMaxProbedChunks);
  FRAMEFS_TRY(const auto found, frame_->find_chunk(is_hole, first, end));
  if (found < end) return std::max(offset, begin_of(found));
  if (is_hole) return nbytes;
  // The rest counts as data. A hole that is reported as data does no harm.
  if (end < chunks) return begin_of(end);
  return system_error_of(ENXIO, "seek");
}

}  // namespace framefs::fs
