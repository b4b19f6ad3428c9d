#include "codec/frame/frame_reader.h"

#include <algorithm>

namespace framefs::codec {

Result<std::int64_t> FrameReader::entry(ChunkIndex chunk) {
  if (chunk.value < window_begin_ || chunk.value - window_begin_ >= window_.size()) {
    const auto most = frame_.window_entries();
    const std::uint64_t begin = chunk.value - chunk.value % most;
    std::vector<std::int64_t> window(std::min(most, frame_.chunk_count() - begin));
    FRAMEFS_CHECK(frame_.read_entries(source_, {begin}, window));
    window_ = std::move(window);
    window_begin_ = begin;
  }
  return window_[chunk.value - window_begin_];
}

Result<Chunk> FrameReader::open_chunk(ChunkIndex chunk) {
  FRAMEFS_TRY(const auto stored, entry(chunk));
  if (frame_.data_place().is_remote_cache() && !fetched_) {
    FRAMEFS_TRY(fetched_, frame_.read_fetched(source_, limits_));
  }
  return frame_.open_chunk(chunks_, chunk, stored, limits_, fetched_ ? &*fetched_ : nullptr);
}

std::uint64_t FrameReader::memory_bytes() const noexcept {
  std::uint64_t sum = window_.capacity() * sizeof(window_[0]);
  if (offsets_) sum += offsets_->memory_bytes();
  if (fetched_) sum += fetched_->memory_bytes();
  if (current_ != nullptr) sum += current_->chunk.memory_bytes() + current_->reader.memory_bytes();
  return sum;
}

Status FrameReader::use_chunk(ChunkIndex chunk) {
  if (current_ != nullptr && current_->index == chunk) return {};
  FRAMEFS_TRY(auto opened, open_chunk(chunk));
  current_ = std::make_unique<Current>(chunk, std::move(opened), chunks_);
  return {};
}

Status FrameReader::read(std::uint64_t offset, std::span<std::byte> out) {
  if (offset > frame_.nbytes() || out.size() > frame_.nbytes() - offset) {
    return fail(Errc::truncated, "frame", offset);
  }
  if (out.empty()) return {};
  if (!offsets_) {
    const auto entry_of = [this](ChunkIndex chunk) { return entry(chunk); };
    FRAMEFS_TRY(offsets_, ChunkOffsets::make(frame_, chunks_, entry_of, limits_));
  }
  while (!out.empty()) {
    FRAMEFS_TRY(const auto place, offsets_->find(offset));
    FRAMEFS_CHECK(use_chunk(place.chunk));
    const std::uint64_t skip = offset - place.range.offset;
    const auto take = std::min<std::uint64_t>(place.range.size - skip, out.size());
    if (fetched_) {
      FRAMEFS_CHECK(
          frame_.data_place().check_fetched(*fetched_, place.chunk, current_->chunk, {skip, take}));
    }
    FRAMEFS_CHECK(current_->reader.read(skip, out.first(take)));
    out = out.subspan(take);
    offset += take;
  }
  return {};
}

}  // namespace framefs::codec
