#pragma once

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "codec/core/units.h"
#include "codec/frame/metalayer.h"
#include "fs/core/files/file.h"
#include "fs/read/content_id.h"
#include "fs/write/overlay/dirty_chunk.h"
#include "fs/write/overlay/shared_entries.h"

namespace framefs::fs {

using codec::ChunkIndex;

// For a frame whose index finds no room in the budget.
inline std::unexpected<Error> no_room_for_index() {
  return system_error_of(ENOMEM, "the indexes of frames that are open for writing");
}

// A frame while it is being written, as layers above the stored chunks.  The lower layer holds the
// chunks that are just being stored ("frozen"): these no longer change.  The upper layer holds the
// chunks that were written to since ("dirty").
// ChunkOverlay does no I/O; OverlayFrame reads it.
// Threads: one may change it, or any number read it.
class ChunkOverlay {
 public:
  // The overlay refuses more chunks: the index is held in memory.
  static constexpr std::uint64_t kMaxChunks = std::uint64_t{1} << 24;

  // `entries` is the index of the stored frame, whose memory `index` counts, and `content_id` the
  // CacheKey::content of its chunks.
  ChunkOverlay(OverlayBudget& budget, OverlayBudget::Index index, std::uint32_t chunksize,
               std::uint64_t nbytes, std::vector<std::int64_t> entries, ContentId content_id);
  // The memory of an index, with a second copy: a commit under way has its own, and an index that
  // grows moves.
  [[nodiscard]] static std::uint64_t index_bytes(std::uint64_t chunks) noexcept {
    return 2 * chunks * sizeof(std::int64_t);
  }

  [[nodiscard]] std::uint32_t chunksize() const noexcept { return chunksize_; }
  [[nodiscard]] std::uint64_t nbytes() const noexcept { return nbytes_; }
  [[nodiscard]] std::uint64_t chunk_count() const noexcept { return entries_.get().size(); }
  // The current decoded size of a chunk.
  [[nodiscard]] std::uint32_t chunk_bytes(std::uint64_t chunk) const noexcept;
  // The largest size that the frame can have.
  [[nodiscard]] std::uint64_t max_bytes() const noexcept { return max_chunks * chunksize_; }

  // The layers above a stored chunk, the upper one first; null where a layer does not have the
  // chunk.
  struct Layers {
    const DirtyChunk* dirty = nullptr;
    const DirtyChunk* frozen = nullptr;
    [[nodiscard]] bool any() const noexcept { return dirty != nullptr || frozen != nullptr; }
  };
  [[nodiscard]] Layers layers(std::uint64_t chunk) const noexcept;
  // The index entry of the stored chunk, and the CacheKey::content of the chunk in the cache.
  [[nodiscard]] std::int64_t entry(std::uint64_t chunk) const noexcept {
    return entries_.get()[chunk];
  }
  // The entries of all chunks.  Changes of the overlay do not show in them.
  [[nodiscard]] SharedEntries::Snapshot entries() const { return entries_.snapshot(); }
  [[nodiscard]] ContentId content_id(std::uint64_t chunk) const noexcept;

  // Whether there are changes that are neither committed nor part of the commit under way.
  [[nodiscard]] bool is_changed() const noexcept { return is_changed_; }
  void set_changed(bool changed) noexcept { is_changed_ = changed; }
  // The begin and the end of a commit of all changes so far.
  void begin_commit() noexcept {
    is_committing_ = std::exchange(is_changed_, false);
    first_committing_ = std::exchange(first_changed_, kNoByte);
  }
  void end_commit(bool is_committed) noexcept {
    is_changed_ = is_changed_ || (is_committing_ && !is_committed);
    is_committing_ = false;
    if (!is_committed) first_changed_ = std::min(first_changed_, first_committing_);
  }
  // The offset of the first byte that the commit under way changes.
  [[nodiscard]] std::uint64_t first_committing() const noexcept { return first_committing_; }
  // The first `nbytes` bytes are committed, although the commit under way fails.
  void note_committed_part(std::uint64_t nbytes) noexcept {
    first_committing_ = std::max(first_committing_, nbytes);
  }
  // The first chunk that is not stored, or the number of chunks.  Call it only when no chunk is
  // frozen.
  [[nodiscard]] std::uint64_t stored_chunks() const noexcept {
    return dirty_.empty() ? chunk_count() : std::min(chunk_count(), dirty_.begin()->first);
  }
  [[nodiscard]] bool is_committed() const noexcept { return !is_changed_ && !is_committing_; }
  // Drops all uncommitted bytes, and gives back their memory and the room of the index.
  void abandon();
  // Whether there are chunks that were written from end to end.  These can be stored already.
  [[nodiscard]] bool has_full_chunks() const noexcept { return !full_.empty(); }

  // Writes bytes, also beyond the end of the frame.  offset + bytes.size() <= max_bytes().
  void write(std::uint64_t offset, std::span<const std::byte> bytes);
  // The most memory that writing these ranges will take.
  [[nodiscard]] std::uint64_t growth(std::span<const codec::ByteRange> ranges) const;
  // The same for zero().
  [[nodiscard]] std::uint64_t growth_of_zeros(const codec::ByteRange& range) const;
  // Room for bytes of this frame.  Call it before the write, and keep the result until after it.
  std::optional<OverlayBudget::Reservation> reserve(std::uint64_t bytes) {
    return account_.reserve(bytes);
  }
  // To be called before the frame may grow to hold `size` bytes at `offset`.
  // Errors: over_limit past max_bytes(); ENOMEM if the longer index has no room.
  Status prepare_size(std::uint64_t offset, std::uint64_t size);
  // Gives the room of the index back, of a frame that nobody changes any more.
  void release_index() noexcept { index_.set(0); }
  // The memory that the written bytes take.
  [[nodiscard]] std::uint64_t used_bytes() const { return account_.used(); }
  // The size of all dirty chunks together, in full, and what each of them costs beside its bytes.
  [[nodiscard]] std::uint64_t unstored_bytes() const noexcept {
    return std::min(nbytes_, dirty_.size() * chunksize_) +
           dirty_.size() * DirtyChunk::kOverheadBytes;
  }
  // Extends the frame with zeros.
  void extend(std::uint64_t nbytes);

  // Call truncate() and zero() only when no chunk is frozen.  They return the entries (>= 0) of the
  // stored chunks that the frame will no longer have.
  std::vector<std::int64_t> truncate(std::uint64_t nbytes);
  // Replaces [offset, offset + size), which lies within the frame, by zeros.
  std::vector<std::int64_t> zero(std::uint64_t offset, std::uint64_t size);

  // A chunk that is being stored.
  struct Frozen {
    std::uint64_t chunk = 0;
    std::uint32_t nbytes = 0;
    std::shared_ptr<DirtyChunk> bytes;
  };
  // Freezes dirty chunks of `most_bytes` together, but at least one: the first ones that are not
  // before the chunk `first`, and before the chunk `end`.  Each also counts what it costs beside
  // its bytes.
  std::vector<Frozen> freeze(std::uint64_t first, std::uint64_t end, std::uint64_t most_bytes);
  // The same for chunks that were written from end to end.
  std::vector<Frozen> freeze_full(std::uint64_t most_bytes);
  // Records that the chunk has been stored.  Returns the entry of the chunk that was stored before.
  std::int64_t land(std::uint64_t chunk, std::int64_t entry, ContentId content_id);
  // Makes the chunk dirty again, as if it had never been frozen: it could not be stored.
  void thaw(const Frozen& frozen);
  // Drops the written bytes: the chunk is as it is stored.  Only if that has the same length.
  void drop(const Frozen& frozen) { frozen_.erase(frozen.chunk); }
  [[nodiscard]] static bool can_drop(const Frozen& frozen) noexcept {
    return frozen.bytes->length_below() == frozen.nbytes;
  }

  // Whether the content ids of the chunks that were stored take much memory.
  [[nodiscard]] bool has_many_ids() const noexcept;
  // Gives all chunks another content id.  Blocks that readers have cached are not found any more.
  void renew_ids(ContentId content_id);

  // Gives all chunks new entries with the same content.  Call it only when no chunk is frozen.
  void replace_entries(std::vector<std::int64_t> entries, ContentId content_id);

  // The times of the last change of the content, and of the last change at all, as users see them.
  timespec mtime{};
  timespec ctime{};
  void touch(const timespec& time) noexcept { mtime = ctime = time; }
  std::vector<codec::NamedContent> vlmetalayers;  // contents as chunks
  std::uint64_t max_chunks = kMaxChunks;

 private:
  std::shared_ptr<DirtyChunk>& dirty_at(std::uint64_t chunk);
  [[nodiscard]] bool is_zero(std::uint64_t chunk) const noexcept;
  void note_change(std::uint64_t offset) noexcept {
    is_changed_ = true;
    first_changed_ = std::min(first_changed_, offset);
  }
  void note_full(std::uint64_t chunk, const DirtyChunk& dirty);
  void resize_entries(std::uint64_t count);
  class Freezing;

  OverlayBudget::Account account_;
  OverlayBudget::Index index_;  // counts `entries_`
  std::uint32_t chunksize_;
  std::uint64_t nbytes_;
  SharedEntries entries_;
  ContentId content_id_;                                      // of the chunks at the beginning
  std::unordered_map<std::uint64_t, ContentId> content_ids_;  // of chunks stored since
  std::map<std::uint64_t, std::shared_ptr<DirtyChunk>> dirty_;
  std::map<std::uint64_t, std::shared_ptr<DirtyChunk>> frozen_;
  std::set<std::uint64_t> full_;
  // The offset of no byte of a file.
  static constexpr std::uint64_t kNoByte = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t first_changed_ = kNoByte;  // since the last commit has begun
  std::uint64_t first_committing_ = kNoByte;
  bool is_changed_ = false;
  bool is_committing_ = false;
  bool is_abandoned_ = false;
};

}  // namespace framefs::fs
