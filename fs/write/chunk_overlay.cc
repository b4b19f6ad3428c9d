#include "fs/write/chunk_overlay.h"

#include <algorithm>
#include <utility>

#include "codec/frame/frame_index.h"

namespace framefs::fs {
namespace {

const std::int64_t kZeroEntry = codec::index_code(codec::Special::zero);

std::uint64_t chunks_for(std::uint64_t nbytes, std::uint32_t chunksize) {
  return nbytes / chunksize + (nbytes % chunksize != 0 ? 1 : 0);
}

}  // namespace

ChunkOverlay::ChunkOverlay(OverlayBudget& budget, std::uint32_t chunksize, std::uint64_t nbytes,
                           std::vector<std::int64_t> entries, ContentId content_id)
    : budget_(&budget),
      chunksize_(chunksize),
      nbytes_(nbytes),
      entries_(std::move(entries)),
      content_id_(content_id) {}

std::uint32_t ChunkOverlay::chunk_bytes(std::uint64_t chunk) const noexcept {
  const auto begin = chunk * chunksize_;
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(chunksize_, nbytes_ - begin));
}

ChunkOverlay::Layers ChunkOverlay::layers(std::uint64_t chunk) const noexcept {
  Layers found;
  if (const auto at = dirty_.find(chunk); at != dirty_.end()) found.dirty = at->second.get();
  if (const auto at = frozen_.find(chunk); at != frozen_.end()) found.frozen = at->second.get();
  return found;
}

ContentId ChunkOverlay::content_id(std::uint64_t chunk) const noexcept {
  const auto found = content_ids_.find(chunk);
  return found == content_ids_.end() ? content_id_ : found->second;
}

// Whether the chunk is stored as zeros only.  The length of such a chunk follows that of the frame.
bool ChunkOverlay::is_zero(std::uint64_t chunk) const noexcept {
  return entries_[chunk] == kZeroEntry && !frozen_.contains(chunk);
}

std::shared_ptr<DirtyChunk>& ChunkOverlay::dirty_at(std::uint64_t chunk) {
  auto& dirty = dirty_[chunk];
  if (!dirty) {
    dirty = std::make_shared<DirtyChunk>(*budget_, is_zero(chunk) ? 0 : chunk_bytes(chunk));
  }
  return dirty;
}

void ChunkOverlay::note_full(std::uint64_t chunk, const DirtyChunk& dirty) {
  if (dirty.written().covers(0, chunksize_) && std::ranges::find(full_, chunk) == full_.end()) {
    full_.push_back(chunk);
  }
}

void ChunkOverlay::extend(std::uint64_t nbytes) {
  if (nbytes <= nbytes_) return;
  // The frame grows past the stored end of its last chunk.  The stored chunk does not hold the new
  // bytes, so the chunk becomes dirty.
  const bool is_partial = nbytes_ % chunksize_ != 0;
  if (is_partial && !is_zero(entries_.size() - 1)) dirty_at(entries_.size() - 1);
  entries_.resize(chunks_for(nbytes, chunksize_), kZeroEntry);
  nbytes_ = nbytes;
  is_changed_ = true;
}

void ChunkOverlay::write(std::uint64_t offset, std::span<const std::byte> bytes) {
  if (bytes.empty()) return;
  extend(offset + bytes.size());
  while (!bytes.empty()) {
    const auto chunk = offset / chunksize_;
    const auto within = static_cast<std::uint32_t>(offset % chunksize_);
    const auto take = std::min<std::size_t>(bytes.size(), chunksize_ - within);
    auto& dirty = *dirty_at(chunk);
    dirty.write(within, bytes.first(take), chunksize_);
    note_full(chunk, dirty);
    bytes = bytes.subspan(take);
    offset += take;
  }
  is_changed_ = true;
}

std::vector<std::int64_t> ChunkOverlay::truncate(std::uint64_t nbytes) {
  std::vector<std::int64_t> dropped;
  if (nbytes >= nbytes_) {
    extend(nbytes);
    return dropped;
  }
  const auto count = chunks_for(nbytes, chunksize_);
  for (auto chunk = count; chunk < entries_.size(); ++chunk) {
    if (entries_[chunk] >= 0) dropped.push_back(entries_[chunk]);
    content_ids_.erase(chunk);
  }
  dirty_.erase(dirty_.lower_bound(count), dirty_.end());
  std::erase_if(full_, [count](std::uint64_t chunk) { return chunk >= count; });
  const bool is_partial = nbytes % chunksize_ != 0;
  if (is_partial && !(is_zero(count - 1) && !dirty_.contains(count - 1))) {
    dirty_at(count - 1)->cut(static_cast<std::uint32_t>(nbytes % chunksize_));
    std::erase(full_, count - 1);
  }
  entries_.resize(count);
  nbytes_ = nbytes;
  is_changed_ = true;
  return dropped;
}

std::vector<std::int64_t> ChunkOverlay::zero(std::uint64_t offset, std::uint64_t size) {
  std::vector<std::int64_t> dropped;
  while (size > 0) {
    const auto chunk = offset / chunksize_;
    const auto within = static_cast<std::uint32_t>(offset % chunksize_);
    const auto whole = chunk_bytes(chunk);
    const auto take = static_cast<std::uint32_t>(std::min<std::uint64_t>(size, whole - within));
    if (take == whole) {
      if (entries_[chunk] >= 0) dropped.push_back(entries_[chunk]);
      entries_[chunk] = kZeroEntry;
      content_ids_.erase(chunk);
      dirty_.erase(chunk);
      std::erase(full_, chunk);
    } else if (!is_zero(chunk) || dirty_.contains(chunk)) {
      dirty_at(chunk)->write_zeros(within, take, chunksize_);
      note_full(chunk, *dirty_at(chunk));
    }
    offset += take;
    size -= take;
    is_changed_ = true;
  }
  return dropped;
}

std::vector<ChunkOverlay::Frozen> ChunkOverlay::freeze(Which which, std::size_t most) {
  std::vector<Frozen> taken;
  const auto take = [&](std::uint64_t chunk) {
    auto node = dirty_.extract(chunk);
    if (node.empty()) return;
    // The memory is reserved now, while no reader uses the chunk: the bytes that were not written
    // are filled in later, while readers read the chunk.
    node.mapped()->reserve(chunk_bytes(chunk), chunksize_);
    taken.push_back({chunk, chunk_bytes(chunk), node.mapped()});
    frozen_.insert(std::move(node));
  };
  if (which == Which::full) {
    const auto count = std::min(most, full_.size());
    for (std::size_t i = 0; i < count; ++i) take(full_[i]);
    full_.erase(full_.begin(), full_.begin() + static_cast<std::ptrdiff_t>(count));
    return taken;
  }
  while (!dirty_.empty() && taken.size() < most) {
    const auto chunk = dirty_.begin()->first;
    std::erase(full_, chunk);
    take(chunk);
  }
  return taken;
}

std::int64_t ChunkOverlay::land(const Frozen& frozen, std::int64_t entry, ContentId content_id) {
  frozen_.erase(frozen.chunk);
  content_ids_[frozen.chunk] = content_id;
  return std::exchange(entries_[frozen.chunk], entry);
}

void ChunkOverlay::replace_entries(std::vector<std::int64_t> entries, ContentId content_id) {
  // A writer may have made the frame longer meanwhile.
  entries.insert(entries.end(), entries_.begin() + static_cast<std::ptrdiff_t>(entries.size()),
                 entries_.end());
  entries_ = std::move(entries);
  content_ids_.clear();
  content_id_ = content_id;
}

void ChunkOverlay::abandon() {
  is_abandoned_ = true;
  dirty_.clear();
  full_.clear();
}

void ChunkOverlay::thaw(const Frozen& frozen) {
  frozen_.erase(frozen.chunk);
  if (is_abandoned_) return;
  auto& dirty = dirty_[frozen.chunk];
  if (dirty) {
    dirty->merge_older(*frozen.bytes, chunksize_);
  } else {
    dirty = frozen.bytes;
  }
  note_full(frozen.chunk, *dirty);
  is_changed_ = true;
}

}  // namespace framefs::fs
