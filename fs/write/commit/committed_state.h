#pragma once

#include <sys/stat.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <optional>
#include <span>
#include <utility>

#include "codec/core/byte_source.h"
#include "codec/core/units.h"
#include "codec/frame/frame_header.h"
#include "fs/core/files/file.h"
#include "fs/core/threads/guarded.h"

namespace framefs::fs {

using FrameHead = std::array<std::byte, codec::kFrameFixedHeaderBytes>;
// Whether the sizes in `head` are those of `header`.
bool is_header_of(const codec::FrameHeader& header, const FrameHead& head) noexcept;

// The known state of a frame's file: the inode, the fixed header, the size, and a checksum of
// metalayers, index and trailer.  With it, a session notices that another process changed the file.
// The checksum is computed again only where the file's ctime differs from the one that the last
// store of this process left.  Chunks have no part in the checksum: see touches().
//
// This process announces its own stores, commits and truncations.  Concurrent checks then do not
// take them for changes by another process.
// Threads: holds() from any number, beside all others; Store from any number; the others from one.
class CommittedState {
 public:
  using Head = FrameHead;

  // A checksum that can be continued: pass the result for one piece as the `seed` of the next.
  static std::uint64_t checksum(std::span<const std::byte> bytes, std::uint64_t seed = 0) noexcept;

  // Records the state of a file whose content is `bytes`: the header ends at `header_len`, index
  // and trailer are `tail`.  `st` holds the attributes that the file had before `bytes` were read.
  // Errors: those of reading `bytes`.
  Status learn(const struct stat& st, const codec::ByteSource& bytes, std::uint64_t header_len,
               codec::ByteRange tail);
  // The same for an empty file, whose header is known as zeros.
  void learn_empty(const struct stat& st);
  // The header that was learned or published last.  Threads: not beside learn() and publish().
  [[nodiscard]] Head head() const;

  // Counts how often another state replaced the current one.  Threads: any number.
  [[nodiscard]] std::uint64_t turns() const {
    return state_.with([](const State& state) { return state.turns; });
  }

  // Counts how often holds() has found that another process wrote to the file, or set its time of
  // the last change, and that no more than the bytes of chunks can have changed.  For example, a
  // commit and a compaction can lead to the same sizes and places.  Threads: any number.
  [[nodiscard]] std::uint64_t touches() const {
    return state_.with([](const State& state) { return state.touches; });
  }

  // Whether `file` still holds the known state, or the state that is being published.
  // Errors: system.
  [[nodiscard]] Result<bool> holds(const FileReader& file) const;

  // A store by this process, for as long as the object lives.  Lifetime: state and file outlive it.
  class Store {
   public:
    // The stored bytes end at `end` in `file`.
    Store(CommittedState& state, const FileReader& file, std::uint64_t end);
    Store(const Store&) = delete;
    Store& operator=(const Store&) = delete;
    ~Store();
    // To be called when all bytes are in the file.
    void done() noexcept { is_done_ = true; }

   private:
    CommittedState& state_;
    const FileReader& file_;
    const std::uint64_t end_;
    bool is_done_ = false;
  };

  // The publication of a state by this process, for as long as the object lives.
  // Lifetime: state and file outlive it.
  class Publication {
   public:
    // To be made before `head` is written to the file, or before `next_file`, which has that head,
    // is renamed over it.
    Publication(CommittedState& state, const Head& head, const FileReader* next_file = nullptr);
    Publication(const Publication&) = delete;
    Publication& operator=(const Publication&) = delete;
    // Without done(), the write or rename has failed, and the former state is the known one.
    ~Publication();
    // To be called after the write or rename.  Index and trailer are at `tail`, and `tail_checksum`
    // is their checksum.
    void done(codec::ByteRange tail, std::uint64_t tail_checksum);

   private:
    CommittedState& state_;
    const Head head_;
    const FileReader* const next_file_;
    bool is_done_ = false;
  };

  // To be called before this process removes a name of the file.
  void expect_removal();
  // Whether holds() has found that the file has lost its last name without expect_removal():
  // another program has removed the file, or renamed another file over it.  Threads: any number.
  [[nodiscard]] bool is_orphan() const {
    return state_.with([](const State& state) { return state.is_orphan; });
  }

  // To be called before and after the file is truncated to `end`.
  void begin_truncate(std::uint64_t end);
  void truncated(const FileReader& file, std::uint64_t end);

  // To be called after this process has set the times of `file`.
  void note_times(const FileReader& file);

 private:
  struct State {
    Head head{};
    std::uint64_t device = 0;
    std::uint64_t inode = 0;
    bool keeps_name = false;
    bool is_orphan = false;
    std::optional<std::pair<Head, std::uint64_t>> next;  // head and inode
    std::uint64_t header_len = 0;
    codec::ByteRange tail;
    std::uint64_t layers_checksum = 0;
    std::uint64_t tail_checksum = 0;
    // The file ends between these two: the bytes of a store under way may be there or not.
    std::uint64_t least_end = 0;
    std::uint64_t most_end = 0;
    timespec mtime{};
    timespec ctime{};
    std::uint64_t touches = 0;
    unsigned storing = 0;
    std::uint64_t stores = 0;  // begun or ended
    std::uint64_t turns = 0;   // publications, truncations
    void note_times(const struct stat& st) noexcept {
      mtime = st.st_mtim;
      ctime = st.st_ctim;
    }
  };
  [[nodiscard]] State now() const {
    return state_.with([](const State& state) { return state; });
  }
  static bool looks_like(const State& state, const Head& head, const struct stat& st);
  static Result<bool> has_same_rest(const State& state, const codec::ByteSource& file);

  // Mutable: if the content turns out to be unchanged, holds() records the new time.
  mutable Guarded<State> state_;
};

}  // namespace framefs::fs
