#include "fs/write/overlay/chunk_overlay.h"

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

ChunkOverlay::ChunkOverlay(OverlayBudget& budget, OverlayBudget::Index index,
                           std::uint32_t chunksize, std::uint64_t nbytes,
                           std::vector<std::int64_t> entries, ContentId content_id)
    : account_(budget),
      index_(std::move(index)),
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
  return entry(chunk) == kZeroEntry && !frozen_.contains(chunk);
}

std::shared_ptr<DirtyChunk>& ChunkOverlay::dirty_at(std::uint64_t chunk) {
  auto& dirty = dirty_[chunk];
  if (!dirty) {
    dirty = std::make_shared<DirtyChunk>(account_, is_zero(chunk) ? 0 : chunk_bytes(chunk));
  }
  return dirty;
}

void ChunkOverlay::note_full(std::uint64_t chunk, const DirtyChunk& dirty) {
  if (dirty.written().covers(0, chunksize_)) full_.insert(chunk);
}

Status ChunkOverlay::prepare_size(std::uint64_t offset, std::uint64_t size) {
  if (offset > max_bytes() || size > max_bytes() - offset) {
    const bool has_less = max_chunks < kMaxChunks;
    return codec::fail(Errc::over_limit,
                       has_less ? "size of a file with checksums" : "size of the file", offset);
  }
  const bool has_room = index_.try_grow(index_bytes(chunks_for(offset + size, chunksize_)));
  return has_room ? Status{} : no_room_for_index();
}

void ChunkOverlay::resize_entries(std::uint64_t count) {
  if (count == chunk_count()) return;
  auto& entries = entries_.change();
  entries.resize(count, kZeroEntry);
  if (entries.capacity() > 2 * count) entries.shrink_to_fit();
  index_.set(index_bytes(count));
}

void ChunkOverlay::extend(std::uint64_t nbytes) {
  if (nbytes <= nbytes_) return;
  // The frame grows past the stored end of its last chunk.  The stored chunk does not hold the new
  // bytes, so the chunk becomes dirty.
  const bool is_partial = nbytes_ % chunksize_ != 0;
  if (is_partial && !is_zero(chunk_count() - 1)) dirty_at(chunk_count() - 1);
  note_change(nbytes_);
  resize_entries(chunks_for(nbytes, chunksize_));
  nbytes_ = nbytes;
}

void ChunkOverlay::write(std::uint64_t offset, std::span<const std::byte> bytes) {
  if (bytes.empty()) return;
  note_change(offset);
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
}

std::uint64_t ChunkOverlay::growth(std::span<const codec::ByteRange> ranges) const {
  std::unordered_map<std::uint64_t, std::vector<Extents::Extent>> parts;  // by chunk
  for (auto [offset, size] : ranges) {
    while (size > 0) {
      const auto begin = static_cast<std::uint32_t>(offset % chunksize_);
      const auto take = std::min<std::uint64_t>(size, chunksize_ - begin);
      parts[offset / chunksize_].push_back({begin, static_cast<std::uint32_t>(begin + take)});
      offset += take;
      size -= take;
    }
  }
  std::uint64_t bytes = 0;
  for (const auto& [chunk, writes] : parts) {
    bytes += DirtyChunk::growth(layers(chunk).dirty, writes, chunksize_);
  }
  return bytes;
}

std::uint64_t ChunkOverlay::growth_of_zeros(const codec::ByteRange& range) const {
  // Whole chunks between the first and the last one become zero chunks, which take no memory.
  const auto end = range.offset + range.size;
  const auto first_end = std::min(end, (range.offset / chunksize_ + 1) * chunksize_);
  std::vector<codec::ByteRange> parts{{range.offset, first_end - range.offset}};
  const auto last_begin = std::max(first_end, end - end % chunksize_);
  if (last_begin < end) parts.push_back({last_begin, end - last_begin});
  return growth(parts);
}

std::vector<std::int64_t> ChunkOverlay::truncate(std::uint64_t nbytes) {
  std::vector<std::int64_t> dropped;
  if (nbytes >= nbytes_) {
    extend(nbytes);
    return dropped;
  }
  const auto count = chunks_for(nbytes, chunksize_);
  dropped.reserve(chunk_count() - count);
  for (auto chunk = count; chunk < chunk_count(); ++chunk) {
    if (entry(chunk) >= 0) dropped.push_back(entry(chunk));
    content_ids_.erase(chunk);
  }
  dirty_.erase(dirty_.lower_bound(count), dirty_.end());
  full_.erase(full_.lower_bound(count), full_.end());
  const bool is_partial = nbytes % chunksize_ != 0;
  if (is_partial && !(is_zero(count - 1) && !dirty_.contains(count - 1))) {
    dirty_at(count - 1)->truncate(static_cast<std::uint32_t>(nbytes % chunksize_));
    full_.erase(count - 1);
  }
  resize_entries(count);
  nbytes_ = nbytes;
  note_change(nbytes);
  return dropped;
}

std::vector<std::int64_t> ChunkOverlay::zero(std::uint64_t offset, std::uint64_t size) {
  std::vector<std::int64_t> dropped;
  dropped.reserve(size / chunksize_);
  if (size > 0) note_change(offset);
  while (size > 0) {
    const auto chunk = offset / chunksize_;
    const auto within = static_cast<std::uint32_t>(offset % chunksize_);
    const auto whole = chunk_bytes(chunk);
    const auto take = static_cast<std::uint32_t>(std::min<std::uint64_t>(size, whole - within));
    if (take == whole) {
      if (entry(chunk) >= 0) dropped.push_back(entry(chunk));
      entries_.change()[chunk] = kZeroEntry;
      content_ids_.erase(chunk);
      dirty_.erase(chunk);
      full_.erase(chunk);
    } else if (!is_zero(chunk) || dirty_.contains(chunk)) {
      dirty_at(chunk)->write_zeros(within, take, chunksize_);
      note_full(chunk, *dirty_at(chunk));
    }
    offset += take;
    size -= take;
  }
  return dropped;
}

// Chunks that are frozen together.
class ChunkOverlay::Freezing {
 public:
  Freezing(ChunkOverlay& overlay, std::uint64_t most_bytes)
      : overlay_(overlay), most_bytes_(most_bytes) {}

  // Freezes the chunk, if it is dirty.  Returns false, and does nothing, if it is one too many.
  bool take(std::uint64_t chunk) {
    const auto nbytes = overlay_.chunk_bytes(chunk);
    const std::uint64_t cost = std::uint64_t{nbytes} + DirtyChunk::kOverheadBytes;
    if (!taken_.empty() && cost > most_bytes_ - std::min(most_bytes_, bytes_)) return false;
    auto node = overlay_.dirty_.extract(chunk);
    if (node.empty()) return true;
    bytes_ += cost;
    taken_.push_back({chunk, nbytes, node.mapped()});
    overlay_.frozen_.insert(std::move(node));
    return true;
  }
  std::vector<Frozen> taken() && { return std::move(taken_); }

 private:
  ChunkOverlay& overlay_;
  const std::uint64_t most_bytes_;
  std::vector<Frozen> taken_;
  std::uint64_t bytes_ = 0;
};

std::vector<ChunkOverlay::Frozen> ChunkOverlay::freeze(std::uint64_t first, std::uint64_t end,
                                                       std::uint64_t most_bytes) {
  Freezing freezing(*this, most_bytes);
  for (auto at = dirty_.lower_bound(first); at != dirty_.end() && at->first < end;) {
    const auto chunk = (at++)->first;
    if (!freezing.take(chunk)) break;
    full_.erase(chunk);
  }
  return std::move(freezing).taken();
}

std::vector<ChunkOverlay::Frozen> ChunkOverlay::freeze_full(std::uint64_t most_bytes) {
  Freezing freezing(*this, most_bytes);
  while (!full_.empty() && freezing.take(*full_.begin())) full_.erase(full_.begin());
  return std::move(freezing).taken();
}

std::int64_t ChunkOverlay::land(std::uint64_t chunk, std::int64_t entry, ContentId content_id) {
  frozen_.erase(chunk);
  content_ids_[chunk] = content_id;
  return std::exchange(entries_.change()[chunk], entry);
}

bool ChunkOverlay::has_many_ids() const noexcept {
  constexpr std::size_t kManyIds = 1u << 16;
  return content_ids_.size() > kManyIds;
}

void ChunkOverlay::renew_ids(ContentId content_id) {
  content_ids_.clear();
  content_id_ = content_id;
}

void ChunkOverlay::replace_entries(std::vector<std::int64_t> entries, ContentId content_id) {
  // A writer may have made the frame longer meanwhile.
  const auto& all = entries_.get();
  entries.insert(entries.end(), all.begin() + static_cast<std::ptrdiff_t>(entries.size()),
                 all.end());
  entries_ = SharedEntries(std::move(entries));
  renew_ids(content_id);
}

void ChunkOverlay::abandon() {
  is_abandoned_ = true;
  dirty_.clear();
  full_.clear();
  release_index();
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
