#include "fs/view/frame_view.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>
#include <vector>

namespace framefs::fs {
namespace {

// What zero chunks are served from, however long they are.
constexpr std::size_t kZeroBytes = 64u << 10;
const std::array<std::byte, kZeroBytes> kZeros{};

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

// Chunks of which no block needs decoding.
Status FrameView::plan_without_decoding(Plan& plan, const codec::Chunk& chunk, ChunkIndex index,
                                        ByteRange wanted) const {
  auto& spans = plan.result.spans;
  if (chunk.body() == codec::ChunkBody::special && chunk.is_zero()) {
    while (wanted.size > 0) {
      const auto take = std::min<std::uint64_t>(wanted.size, kZeroBytes);
      spans.push_back(std::span(kZeros).first(take));
      wanted.size -= take;
    }
    return {};
  }
  auto bytes = std::make_shared<Bytes>(frame_->services().buffers, wanted.size);
  if (chunk.body() == codec::ChunkBody::special) {
    chunk.fill(wanted.offset, bytes->writable());
  } else {
    FRAMEFS_CHECK(frame_->read_plain(chunk, index, wanted.offset, bytes->writable()));
  }
  spans.push_back(bytes->view());
  plan.result.owners.push_back(std::move(bytes));
  return {};
}

Status FrameView::plan_chunk(Plan& plan, const codec::ChunkOffsets::Place& place,
                             ByteRange wanted) const {
  FRAMEFS_TRY(const auto opened, frame_->chunk(place.chunk, place.range.size));
  if (opened->body() != codec::ChunkBody::blocks) {
    return plan_without_decoding(plan, *opened, place.chunk, wanted);
  }
  for (const auto& piece : plan_blocks(*opened, wanted)) {
    plan.gaps.push_back({plan.result.spans.size(), piece.within});
    plan.requests.push_back(frame_->request(opened, place.chunk, piece.block));
    plan.result.spans.emplace_back();
  }
  return {};
}

// Calls body(place, within) -> Status for the chunks that `wanted` touches, as far as the frame goes.
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
    FRAMEFS_CHECK(body(*place, ByteRange{skip, take}));
    offset += take;
    left -= take;
  }
  return {};
}

Result<ReadResult> FrameView::read(std::uint64_t offset, std::uint64_t size, Access) const {
  const auto& frame = frame_->frame();
  if (!frame) return std::unexpected(frame.error());
  Plan plan;
  FRAMEFS_CHECK(for_each_chunk({offset, size}, [&](const auto& place, ByteRange within) {
    return plan_chunk(plan, place, within);
  }));
  FRAMEFS_CHECK(fill_gaps(plan));
  return std::move(plan.result);
}

bool FrameView::decode_ahead(ByteRange range) const {
  if (!frame_->frame() || range.offset >= frame_->nbytes()) return false;
  std::vector<BlockRequest> requests;
  const auto planned = for_each_chunk(range, [&](const auto& place, ByteRange within) -> Status {
    FRAMEFS_TRY(const auto opened, frame_->chunk(place.chunk, place.range.size));
    if (opened->body() != codec::ChunkBody::blocks) return {};
    for (const auto& piece : plan_blocks(*opened, within)) {
      requests.push_back(frame_->request(opened, place.chunk, piece.block));
    }
    return {};
  });
  return planned && frame_->fetch_ahead(requests);
}

Status FrameView::fill_gaps(Plan& plan) const {
  if (plan.requests.empty()) return {};
  auto& [admission, served, owners, spans] = plan.result;
  if (plan.requests.size() == 1) {
    const auto [span, within] = plan.gaps.front();
    if (auto part = frame_->fetch_part(plan.requests.front(), within)) {
      spans[span] = part->view();
      owners.push_back(std::move(part));
      return {};
    }
  }
  admission = frame_->services().cache.admit(BlockFetcher::needed_bytes(plan.requests));
  FRAMEFS_TRY(auto blocks, frame_->fetch(plan.requests));
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const auto [span, within] = plan.gaps[i];
    const auto whole = blocks[i]->view();
    spans[span] = whole.subspan(within.offset, within.size);
    owners.push_back(std::move(blocks[i]));
    // Its last byte is on its way: the rest is in the page cache already, or was never wanted.
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
  // Where chunks vary in size, none is a hole: nothing but a stored header tells their sizes.
  const bool is_hole = what == Seek::hole;
  if (frame->header().has_variable_chunks()) return is_hole ? nbytes : offset;
  const std::uint64_t chunksize = frame->header().chunksize;
  const std::uint64_t first = offset / chunksize;
  FRAMEFS_TRY(const auto found, frame_->find_chunk(is_hole, first, frame_->chunk_count()));
  if (found < frame_->chunk_count()) return std::max(offset, found * chunksize);
  if (is_hole) return nbytes;
  return system_error_of(ENXIO, "seek");
}

}  // namespace framefs::fs
