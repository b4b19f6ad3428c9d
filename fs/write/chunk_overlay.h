#pragma once

#include <cstddef>
#include <cstdint>
#include <ctime>
#include <map>
#include <memory>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "codec/core/units.h"
#include "codec/frame/metalayer.h"
#include "fs/read/content_id.h"
#include "fs/write/dirty_chunk.h"

namespace framefs::fs {

using codec::ChunkIndex;

// A frame as it is while it is being written: above the stored chunks lie those that are just being
// stored ("frozen"), which no longer change, and above them those that have been written to since.
// It does no I/O; OverlayFrame reads it.
// Threads: one may change it, or any number read it.
class ChunkOverlay {
 public:
  // More chunks than that are refused: the index is held in memory.
  static constexpr std::uint64_t kMaxChunks = std::uint64_t{1} << 24;

  // `entries` is the index of the frame as it is stored, and `content_id` the CacheKey::content of that.
  ChunkOverlay(OverlayBudget& budget, std::uint32_t chunksize, std::uint64_t nbytes,
               std::vector<std::int64_t> entries, ContentId content_id);

  [[nodiscard]] std::uint32_t chunksize() const noexcept { return chunksize_; }
  [[nodiscard]] std::uint64_t nbytes() const noexcept { return nbytes_; }
  [[nodiscard]] std::uint64_t chunk_count() const noexcept { return entries_.size(); }
  // The decoded size of a chunk as it is now.
  [[nodiscard]] std::uint32_t chunk_bytes(std::uint64_t chunk) const noexcept;
  // The largest file that can become of it.
  [[nodiscard]] std::uint64_t max_bytes() const noexcept { return kMaxChunks * chunksize_; }

  // What lies above the stored chunk, the upper first; null where there is no such.
  struct Layers {
    const DirtyChunk* dirty = nullptr;
    const DirtyChunk* frozen = nullptr;
    [[nodiscard]] bool any() const noexcept { return dirty != nullptr || frozen != nullptr; }
  };
  [[nodiscard]] Layers layers(std::uint64_t chunk) const noexcept;
  // The index entry of the stored chunk, and the CacheKey::content under which it is cached.
  [[nodiscard]] std::int64_t entry(std::uint64_t chunk) const noexcept { return entries_[chunk]; }
  [[nodiscard]] const std::vector<std::int64_t>& entries() const noexcept { return entries_; }
  [[nodiscard]] ContentId content_id(std::uint64_t chunk) const noexcept;

  // Whether something is not committed, nor part of the commit under way.
  [[nodiscard]] bool is_changed() const noexcept { return is_changed_; }
  void set_changed(bool changed) noexcept { is_changed_ = changed; }
  // A commit of what is_changed() is under way; it has ended.
  void begin_commit() noexcept { is_committing_ = std::exchange(is_changed_, false); }
  void end_commit(bool is_committed) noexcept {
    is_changed_ = is_changed_ || (is_committing_ && !is_committed);
    is_committing_ = false;
  }
  [[nodiscard]] bool is_committed() const noexcept { return !is_changed_ && !is_committing_; }
  // What was written is lost, and its memory is given back.
  void abandon();
  // Whether chunks have been written from end to end, so that they can be stored already.
  [[nodiscard]] bool has_full_chunks() const noexcept { return !full_.empty(); }

  // Writes bytes, beyond the end too.  offset + bytes.size() <= max_bytes().
  void write(std::uint64_t offset, std::span<const std::byte> bytes);
  // Makes it longer: by zeros.
  void extend(std::uint64_t nbytes);

  // The members below are for when nothing is frozen.  They return the entries (>= 0) of stored chunks
  // that the frame will no longer have.
  std::vector<std::int64_t> truncate(std::uint64_t nbytes);
  // Makes [offset, offset + size), which lies within the frame, zeros.
  std::vector<std::int64_t> zero(std::uint64_t offset, std::uint64_t size);

  // A chunk on its way to being stored.
  struct Frozen {
    std::uint64_t chunk = 0;
    std::uint32_t nbytes = 0;
    std::shared_ptr<DirtyChunk> bytes;
  };
  enum class Which : std::uint8_t { full, all };
  // Freezes chunks, `most` of them at most; each has room for all of its bytes then.
  std::vector<Frozen> freeze(Which which, std::size_t most);
  // It has been stored.  Returns the entry of what was stored before.
  std::int64_t land(const Frozen& frozen, std::int64_t entry, ContentId content_id);
  // It could not be stored, and is as if it had never been frozen.
  void thaw(const Frozen& frozen);

  // All chunks have other entries now, and the same content.  When nothing is frozen.
  void replace_entries(std::vector<std::int64_t> entries, ContentId content_id);

  // When the content changed last, as users are to see it.
  timespec mtime{};
  std::vector<codec::NamedContent> vlmetalayers;  // contents as chunks

 private:
  std::shared_ptr<DirtyChunk>& dirty_at(std::uint64_t chunk);
  [[nodiscard]] bool is_zero(std::uint64_t chunk) const noexcept;
  void note_full(std::uint64_t chunk, const DirtyChunk& dirty);

  OverlayBudget* budget_;
  std::uint32_t chunksize_;
  std::uint64_t nbytes_;
  std::vector<std::int64_t> entries_;
  ContentId content_id_;                                      // of chunks as they were at first
  std::unordered_map<std::uint64_t, ContentId> content_ids_;  // of chunks stored since
  std::map<std::uint64_t, std::shared_ptr<DirtyChunk>> dirty_;
  std::map<std::uint64_t, std::shared_ptr<DirtyChunk>> frozen_;
  std::vector<std::uint64_t> full_;
  bool is_changed_ = false;
  bool is_committing_ = false;
  bool is_abandoned_ = false;
};

}  // namespace framefs::fs
