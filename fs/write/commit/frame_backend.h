#pragma once

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "codec/frame/frame_header.h"
#include "codec/frame/metalayer.h"
#include "fs/core/files/file.h"
#include "fs/write/overlay/stored_checksums.h"

namespace framefs::fs {

// The content of a frame after a commit.
struct FrameContent {
  std::uint64_t nbytes = 0;
  std::span<const std::int64_t> entries;              // the index, one for each chunk
  std::span<const codec::NamedContent> vlmetalayers;  // contents as chunks, without checksums
};

// For a frame that another writer changed while it was being opened.  The caller can try again.
inline std::unexpected<Error> changed_while_opening() {
  return system_error_of(ESTALE, "a frame that changes while it is being opened");
}

// Stores the chunks of a frame that is being changed, and replaces the old state of the frame by a
// new one.  The replacement is atomic.  A commit has three steps:
//
//   prepare()   writes everything new, to places that the committed state does not use
//   sync()      makes all of that durable
//   publish()   makes the new state the frame
//
// After an error of any step the committed state is still whole.  After an error of prepare() the
// commit can be tried again; after an error of a sync it cannot, see is_lost().
// Threads: write_chunk() from any number at once; the others from one at a time, and not beside
// write_chunk().
class FrameBackend {
 public:
  explicit FrameBackend(
      std::shared_ptr<StoredChecksums> checksums = std::make_shared<StoredChecksums>())
      : checksums_(std::move(checksums)) {}
  FrameBackend(const FrameBackend&) = delete;
  FrameBackend& operator=(const FrameBackend&) = delete;
  virtual ~FrameBackend() = default;

  // Whether the frame is still the one that was opened or published last.  If another process has
  // changed the frame, the error is final: the frame then is_lost().
  // Errors: EIO for such a change; system.  Threads: any number, beside all others.
  virtual Status check_unchanged() = 0;
  // See CommittedState::touches().  Threads: any number, beside all others.
  [[nodiscard]] virtual std::uint64_t touches() const = 0;
  // To be called before this mount removes a name of the frame.  Threads: any number, beside all
  // others.
  virtual void expect_removal() {}
  // Whether check_unchanged() has found that another program has removed or replaced the file.
  // Bytes that are stored then are there for those who have the file open, and for nobody else.
  // Threads: any number, beside all others.
  [[nodiscard]] virtual bool is_orphan() const { return false; }
  // Errors: EIO if is_orphan().
  [[nodiscard]] Status check_named() const {
    if (!is_orphan()) return {};
    return system_error_of(EIO, "another program has removed or replaced the frame");
  }
  // To be called once this process owns the frame, before it stores anything.
  // Errors: those of check_unchanged() and of storing.  Threads: one at a time, beside
  // check_unchanged().
  virtual Status begin_writing() { return {}; }
  // To be called after the times of content_fd() were set.  Threads: any number, beside all others.
  virtual void note_times() = 0;

  // Stores a chunk in space that no committed state uses, and returns its index entry.  Checks
  // immediately before that the frame is unchanged.
  // Errors: no_space, system, over_limit; those of check_unchanged().
  virtual Result<std::int64_t> write_chunk(std::span<const std::byte> chunk) = 0;
  // To be called for the entry (>= 0) of a chunk that the next state will not refer to.
  virtual void drop(std::int64_t entry) = 0;

  // Errors: no_space, system; those of check_unchanged().
  virtual Status prepare(const FrameContent& content) = 0;
  // An error is final for this frame: it then is_lost().
  Status sync() { return note_sync(sync_files()); }
  virtual Status publish() = 0;

  // To be called before the files of the frame are removed: chunks of the index `entries` can be
  // read afterwards.
  virtual void keep_readable(std::span<const std::int64_t> entries) { static_cast<void>(entries); }

  // The checksums of stored chunks, which each commit stores if the frame has them.
  [[nodiscard]] const std::shared_ptr<StoredChecksums>& checksums() const noexcept {
    return checksums_;
  }
  // The trailer of the state `content`.  Errors: those of encoding.
  [[nodiscard]] Result<std::vector<std::byte>> encode_trailer(const FrameContent& content) const {
    return checksums_->encode_trailer(content.vlmetalayers, content.entries,
                                      checksums_->of(content.entries));
  }

  // Whether no further commit can succeed.  There are three causes.  Another process has written to
  // the frame.  Or bytes written since the last commit did not reach the disk: the kernel reports
  // that only once, and a second sync would succeed without those bytes.  Or the frame is damaged
  // where a commit has to read it.
  [[nodiscard]] bool is_lost() const noexcept {
    return loss_.load(std::memory_order_relaxed) != Loss::none;
  }
  // Whether the cause is a sync: bytes of the last commit, which was not durable, may be lost too.
  [[nodiscard]] bool is_lost_by_sync() const noexcept {
    return loss_.load(std::memory_order_relaxed) == Loss::by_sync;
  }
  // To be called when another program has changed the frame, or for a damaged frame.
  void give_up() noexcept {
    auto none = Loss::none;
    loss_.compare_exchange_strong(none, Loss::by_change, std::memory_order_relaxed);
  }
  // Errors: EIO when it is_lost().
  [[nodiscard]] Status check_usable() const {
    if (!is_lost()) return {};
    return system_error_of(EIO, "an earlier commit failed for good");
  }
  // Whether reclaim() has something to free once the state published last is durable.
  [[nodiscard]] virtual bool wants_reclaim() const = 0;
  virtual Status reclaim() = 0;

  // The largest trailer that a frame without chunks can get while it stays without chunks.
  [[nodiscard]] virtual std::uint64_t max_empty_trailer() const noexcept = 0;

  // Frees everything that only readers of older states can still need.  Call it only when nothing
  // is prepared.
  virtual void release_old_states() = 0;

  // Frees the space of everything that was stored since the last commit, which no state will refer
  // to.
  virtual void discard_stored() {}

  // Sets the parameters of chunks stored from now on.  Call it only while the frame holds no chunk.
  virtual void set_params(const codec::FrameHeader& header) = 0;

  // Sets the size of the chunks.  Call it only while the frame holds no chunk.  Unit: bytes.
  virtual void set_chunksize(std::uint32_t chunksize) = 0;

  // The file whose times, mode and state are those of the frame.  A commit may replace it by
  // another.
  [[nodiscard]] virtual int content_fd() const noexcept = 0;
  // The descriptor that FrameLock locks.
  [[nodiscard]] virtual int lock_fd() const noexcept = 0;
  // The stat of the same file; it has no links if the file was removed.  Threads: any number.
  [[nodiscard]] virtual Result<struct stat> content_stat() const = 0;
  // Stores the committed state, which is `content`, without dead space, by commits of its own.
  // Each time that chunks have moved, `moved` gets the new entries: from then on no reader may use
  // older ones.
  // Errors: as prepare(), sync() and publish().
  using Moved = std::function<void(const std::vector<std::int64_t>&)>;
  virtual Status compact(const FrameContent& content, const Moved& moved) = 0;

  // Ends compact() before its next step once `is_over()` returns true.  The frame is then whole,
  // and a later compact() continues.
  void set_interruption(std::function<bool()> is_over) { is_over_ = std::move(is_over); }
  // Removes the function.  Returns whether it has ended compact().
  bool take_interruption() {
    is_over_ = nullptr;
    return std::exchange(was_interrupted_, false);
  }

  // The size of the frame's file or files, and how much of it no state needs.
  struct Usage {
    std::uint64_t total = 0;
    std::uint64_t dead = 0;
    bool is_refused = false;  // the reference library refuses the frame as it is stored now
  };
  // `entries` is the committed index.
  virtual Usage usage(std::span<const std::int64_t> entries) = 0;

 protected:
  virtual Status sync_files() = 0;
  // To be called with the result of any sync of bytes of the frame.  Threads: any number.
  Status note_sync(Status status) {
    if (!status) loss_.store(Loss::by_sync, std::memory_order_relaxed);
    return status;
  }
  // To be called before each step of compact().  Errors: ECANCELED once `is_over()` is true.
  Status begin_step() {
    if (!is_over_ || !is_over_()) return {};
    was_interrupted_ = true;
    return system_error_of(ECANCELED, "compaction");
  }
  Status overtaken() {
    give_up();
    return system_error_of(EIO,
                           "the frame was changed by another writer while it was being written");
  }

 private:
  const std::shared_ptr<StoredChecksums> checksums_;
  std::function<bool()> is_over_;
  bool was_interrupted_ = false;
  enum class Loss : unsigned char { none, by_change, by_sync };
  std::atomic<Loss> loss_{Loss::none};  // never none again; nothing else is inferred from it
};

}  // namespace framefs::fs
