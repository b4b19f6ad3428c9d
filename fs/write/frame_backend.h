#pragma once

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "codec/frame/frame_header.h"
#include "codec/frame/metalayer.h"
#include "fs/core/file.h"

namespace framefs::fs {

// What a frame is to be after a commit.
struct FrameContent {
  std::uint64_t nbytes = 0;
  std::span<const std::int64_t> entries;              // the index, one for each chunk
  std::span<const codec::NamedContent> vlmetalayers;  // contents as chunks
};

// For a frame that another writer changed while it was being opened: the attempt can be repeated.
inline std::unexpected<Error> changed_while_opening() {
  return system_error_of(ESTALE, "a frame that changes while it is being opened");
}

// Where the chunks of a frame that is being changed are stored, and how a new state of it takes the
// place of the old one: at once, or not at all.  A commit goes through three steps, so that the sync
// between them can be shared by many frames:
//
//   prepare()   all that is new is written, beside what the committed state needs
//   (sync)      all of that is durable: sync(), or syncfs(2)
//   publish()   the new state is the frame
//
// After an error of one of them the committed state is still whole.  After one of prepare() the commit
// can be begun anew; after one of a sync it cannot, see is_lost().
// Threads: write_chunk() from any number at once; the others from one at a time, and not beside write_chunk().
class FrameBackend {
 public:
  FrameBackend() = default;
  FrameBackend(const FrameBackend&) = delete;
  FrameBackend& operator=(const FrameBackend&) = delete;
  virtual ~FrameBackend() = default;

  // Whether the frame is still the one that was opened or published last.  An error is the last word
  // about this frame where somebody else has changed it: it then is_lost().
  // Errors: EIO for that; system.  Threads: any number, beside all others.
  virtual Status check_unchanged() = 0;
  // The times of content_fd() were set.  Threads: likewise.
  virtual void note_times() = 0;

  // Stores a chunk where no committed state has anything, and returns its index entry.  Checks that
  // the frame is unchanged immediately before.
  // Errors: no_space, system, over_limit; those of check_unchanged().
  virtual Result<std::int64_t> write_chunk(std::span<const std::byte> chunk) = 0;
  // The next state will not refer to the chunk of this entry (>= 0).
  virtual void drop(std::int64_t entry) = 0;

  // Errors: no_space, system; those of check_unchanged().
  virtual Status prepare(const FrameContent& content) = 0;
  // An error is the last word about this frame: it then is_lost().
  Status sync() {
    auto status = sync_files();
    if (!status) give_up();
    return status;
  }
  virtual Status publish() = 0;

  // No commit will do any more.  Either somebody else has written to the frame; or what was written
  // since the last commit did not reach the disk: the kernel tells of that once, and a second sync
  // would succeed without those bytes.
  [[nodiscard]] bool is_lost() const noexcept { return is_lost_.load(std::memory_order_relaxed); }
  // For when the sync was not ours.
  void give_up() noexcept { is_lost_.store(true, std::memory_order_relaxed); }
  // Errors: EIO when it is_lost().
  [[nodiscard]] Status check_usable() const {
    if (!is_lost()) return {};
    return system_error_of(EIO, "an earlier commit failed for good");
  }
  // Whether there is something to tidy up once the state published last is durable, and doing so.
  [[nodiscard]] virtual bool wants_reclaim() const = 0;
  virtual Status reclaim() = 0;

  // How large the trailer of a frame without chunks can become, when it has none already.
  [[nodiscard]] virtual std::uint64_t max_empty_trailer() const noexcept = 0;

  // Nothing is prepared: what only readers of older states could want may go.
  virtual void release_old_states() = 0;

  // For chunks stored from now on; only while the frame holds none.
  virtual void set_params(const codec::FrameHeader& header) = 0;

  // The file whose times, mode and state are those of the frame.  A commit may put another in its place.
  [[nodiscard]] virtual int content_fd() const noexcept = 0;
  // What FrameLock locks.
  [[nodiscard]] virtual int lock_fd() const noexcept = 0;
  // Of the same file; without links where it was removed.  Threads: any number.
  [[nodiscard]] virtual Result<struct stat> content_stat() const = 0;
  // Stores the committed state, which is `content`, without dead space, by commits of its own.  Each
  // time that chunks are in other places, `moved` is told the entries: nobody may go by others from
  // then on.  Errors: as prepare(), sync() and publish().
  using Moved = std::function<void(const std::vector<std::int64_t>&)>;
  virtual Status compact(const FrameContent& content, const Moved& moved) = 0;

  // What the frame's file or files take, and how much of that no state needs.
  struct Usage {
    std::uint64_t total = 0;
    std::uint64_t dead = 0;
    bool is_refused = false;  // by the reference library, as it is stored now
  };
  // `entries` is the committed index.
  virtual Usage usage(std::span<const std::int64_t> entries) = 0;

 protected:
  virtual Status sync_files() = 0;
  Status overtaken() {
    give_up();
    return system_error_of(EIO,
                           "the frame was changed by another writer while it was being written");
  }

 private:
  std::atomic<bool> is_lost_{false};  // set once; nothing else is inferred from it
};

}  // namespace framefs::fs
