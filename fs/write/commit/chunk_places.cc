#include "fs/write/commit/chunk_places.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "codec/chunk/chunk_header.h"
#include "codec/core/byte_reader.h"

namespace framefs::fs {
namespace {

// The offset of the stored size in a chunk.  Source: chunk format, "Header".
constexpr std::uint64_t kChunkCbytesAt = 12;
// Finding dead space takes one read for each chunk.  A writer does not wait for more reads than
// this.
constexpr std::size_t kMaxSizesRead = 1u << 16;

}  // namespace

// Bytes behind the frame may belong to the previous state, and after a crash the frame may be in
// that state again.
void ChunkPlaces::begin(const Opened& frame) {
  header_len_ = frame.header_len;
  tail_ = frame.tail;
  end_at_open_ = frame.tail.offset;
  has_unknown_space_ = frame.entries.size() > kMaxSizesRead;
  has_unsafe_layout_ = std::ranges::any_of(frame.entries, [&](std::int64_t entry) {
    return std::cmp_greater_equal(entry, tail_.offset - header_len_);
  });
  if (!has_unknown_space_) entries_at_open_.assign(frame.entries.begin(), frame.entries.end());
  const auto end = frame.tail.offset + frame.tail.size;
  size_at_open_ = std::max(end, frame.file_bytes);
  allocation_.with([&](Allocation& all) {
    all.space = codec::FrameSpace(size_at_open_);
    if (frame.file_bytes > end) all.space.add_dead({end, frame.file_bytes - end});
  });
}

std::uint64_t ChunkPlaces::allocate(std::uint64_t size) {
  return allocation_.with([&](Allocation& all) {
    const auto begin = all.space.allocate(size);
    all.fresh.emplace(begin, static_cast<std::uint32_t>(size));
    return begin;
  });
}

std::uint64_t ChunkPlaces::allocate_from(std::uint64_t from, std::uint64_t size) {
  return allocation_.with([&](Allocation& all) { return all.space.allocate_from(from, size); });
}

std::uint64_t ChunkPlaces::append(std::uint64_t size) {
  return allocation_.with([&](Allocation& all) { return all.space.append(size); });
}

void ChunkPlaces::raise_end(std::uint64_t at) {
  allocation_.with([&](Allocation& all) { all.space.raise_end(at); });
}

void ChunkPlaces::take_back(std::span<const ByteRange> ranges) {
  allocation_.with([&](Allocation& all) {
    for (const auto& range : ranges) all.space.take_back(range);
  });
}

void ChunkPlaces::retire(std::span<const ByteRange> ranges) {
  allocation_.with([&](Allocation& all) {
    for (const auto& range : ranges) all.space.retire(range);
  });
}

std::vector<ByteRange> ChunkPlaces::take_retired() {
  return allocation_.with([](Allocation& all) { return all.space.take_retired(); });
}

void ChunkPlaces::drop(std::int64_t entry) {
  const auto at = header_len_ + static_cast<std::uint64_t>(entry);
  const bool was_fresh = allocation_.with([&](Allocation& all) {
    const auto found = all.fresh.find(at);
    if (found == all.fresh.end()) return false;
    all.space.take_back({at, found->second});
    all.fresh.erase(found);
    return true;
  });
  if (was_fresh) return;
  // A writer that replaces chunks, instead of only appending, makes dead space and can reuse it.
  learn_layout();
  // Other chunks may use the same bytes.
  if (has_unsafe_layout_ || (has_unknown_space_ && at < size_at_open_)) return;
  // If the size of a chunk cannot be read, its space stays unused until the frame is compacted.
  if (const auto size = stored_bytes(entry)) {
    allocation_.with([&](Allocation& all) { all.space.retire({at, *size}); });
  }
}

void ChunkPlaces::drop_fresh() {
  allocation_.with([](Allocation& all) {
    for (const auto& [at, size] : all.fresh) all.space.take_back({at, size});
    all.fresh.clear();
  });
}

void ChunkPlaces::commit(ByteRange tail) {
  allocation_.with([&](Allocation& all) {
    all.space.retire(tail_);
    all.space.commit();
    all.fresh.clear();
  });
  tail_ = tail;
}

void ChunkPlaces::reset(ByteRange tail) {
  allocation_.with([&](Allocation& all) {
    all.space = codec::FrameSpace(tail.offset + tail.size);
    all.fresh.clear();
  });
  tail_ = tail;
  forget_layout();
}

Result<std::uint32_t> ChunkPlaces::stored_bytes(std::int64_t entry) const {
  const auto at = header_len_ + static_cast<std::uint64_t>(entry);
  const auto fresh = allocation_.with([&](const Allocation& all) -> std::uint32_t {
    const auto found = all.fresh.find(at);
    return found == all.fresh.end() ? 0 : found->second;
  });
  if (fresh != 0) return fresh;
  std::array<std::byte, sizeof(std::uint32_t)> bytes{};
  FRAMEFS_CHECK(file_->read_at(at + kChunkCbytesAt, bytes));
  const auto size = codec::load_le<std::uint32_t>(bytes.data());
  // A damaged size must not reach into bytes outside the chunk.
  if (size < codec::kShortHeaderBytes || size > tail_.offset - std::min(tail_.offset, at)) {
    return codec::fail_value(Errc::bad_field, "cbytes", at + kChunkCbytesAt,
                             static_cast<std::int64_t>(size));
  }
  return size;
}

Result<std::vector<std::uint32_t>> ChunkPlaces::sizes_within(
    std::uint64_t size, std::span<const std::int64_t> entries) const {
  std::vector<std::uint32_t> sizes(entries.size());
  std::unordered_map<std::int64_t, std::uint32_t> known;  // chunks may share a place
  for (std::size_t i = 0; i < entries.size(); ++i) {
    if (entries[i] < 0 || std::cmp_greater_equal(entries[i], size)) continue;
    const auto [at, is_new] = known.try_emplace(entries[i], 0);
    if (is_new) {
      FRAMEFS_TRY(at->second, stored_bytes(entries[i]));
    }
    sizes[i] = at->second;
  }
  return sizes;
}

Result<std::uint64_t> ChunkPlaces::end_of(std::span<const std::int64_t> entries) const {
  std::int64_t last = -1;
  for (const auto entry : entries) last = std::max(last, entry);
  if (last < 0) return header_len_;
  FRAMEFS_TRY(const auto size, stored_bytes(last));
  return header_len_ + static_cast<std::uint64_t>(last) + size;
}

// Finds the space between the chunks that the frame had when it was opened, and whether any of them
// share bytes.  The index of an untrusted frame may name any place of the file, and any place
// twice.  The frame still has all of these chunks.
void ChunkPlaces::learn_layout() {
  auto entries = std::exchange(entries_at_open_, {});
  std::erase_if(entries, [](std::int64_t entry) { return entry < 0; });
  if (entries.empty()) return;
  std::ranges::sort(entries);
  std::vector<ByteRange> dead;
  std::uint64_t live_end = header_len_;
  bool has_all_sizes = true;
  for (const auto entry : entries) {
    const auto at = header_len_ + static_cast<std::uint64_t>(entry);
    const auto size = stored_bytes(entry);
    if (!size) {
      has_all_sizes = false;
      continue;
    }
    if (at < live_end) has_unsafe_layout_ = true;
    if (at > live_end) dead.push_back({live_end, at - live_end});
    live_end = std::max(live_end, at + *size);
  }
  // Without all sizes, no space is known to be dead.
  if (!has_all_sizes || has_unsafe_layout_) return;
  if (end_at_open_ > live_end) dead.push_back({live_end, end_at_open_ - live_end});
  allocation_.with([&](Allocation& all) {
    for (const auto& range : dead) all.space.add_dead(range);
  });
}

// The frame has none of the chunks any more that it had when it was opened.
void ChunkPlaces::forget_layout() {
  entries_at_open_.clear();
  has_unknown_space_ = false;
  has_unsafe_layout_ = false;
}

std::uint64_t ChunkPlaces::end() const {
  return allocation_.with([](const Allocation& all) { return all.space.end(); });
}

ChunkPlaces::Usage ChunkPlaces::usage() {
  learn_layout();
  auto usage = allocation_.with([](const Allocation& all) {
    return Usage{.total = all.space.end(), .dead = all.space.dead_bytes()};
  });
  // Bytes behind everything that is in use, as of an empty frame after a commit that failed.
  if (const auto size = file_->size(); size && *size > usage.total) {
    usage.dead += *size - usage.total;
    usage.total = *size;
  }
  if (has_unsafe_layout_) usage.dead = 0;
  usage.is_complete = has_unsafe_layout_ || !has_unknown_space_;
  return usage;
}

}  // namespace framefs::fs
