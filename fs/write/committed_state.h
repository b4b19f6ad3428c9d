#pragma once

#include <sys/stat.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <optional>
#include <span>
#include <utility>

#include "codec/core/units.h"
#include "codec/frame/frame_header.h"
#include "fs/core/file.h"
#include "fs/core/guarded.h"

namespace framefs::fs {

using FrameHead = std::array<std::byte, codec::kFrameFixedHeaderBytes>;
// Whether the sizes in `head` are those of `header`.
bool is_header_of(const codec::FrameHeader& header, const FrameHead& head) noexcept;

// What a frame's file is known to hold, so that a change by another process is noticed: the inode, the
// fixed header, the size, and a checksum of metalayers, index and trailer.  The checksum is computed
// again only where the time of the last change is not the one that the last store of our own left.
//
// Our own stores, commits and truncations are announced, so that checks beside them do not take them
// for somebody else's.
// Threads: holds() from any number, beside all others; Store from any number; the others from one.
class CommittedState {
 public:
  using Head = FrameHead;

  // A checksum that joins pieces: pass the result for one piece as the `seed` of the next.
  static std::uint64_t checksum(std::span<const std::byte> bytes, std::uint64_t seed = 0) noexcept;

  // Learns the state that `file` holds: the header ends at `header_len`, index and trailer are `tail`.
  // Errors: those of reading it.
  Status learn(const FileReader& file, std::uint64_t header_len, codec::ByteRange tail);
  // As learned or published last.  Threads: not beside learn() and publish().
  [[nodiscard]] Head head() const;

  // Counts what puts another state in the place of this one.  Threads: any number.
  [[nodiscard]] std::uint64_t turns() const {
    return state_.with([](const State& state) { return state.turns; });
  }

  // Whether `file` still holds the state, or the one that is being published.
  // Errors: system.
  [[nodiscard]] Result<bool> holds(const FileReader& file) const;

  // A store of our own, for as long as it lives.  Lifetime: state and file outlive it.
  class Store {
   public:
    // Of bytes that end at `end` in `file`.
    Store(CommittedState& state, const FileReader& file, std::uint64_t end);
    Store(const Store&) = delete;
    Store& operator=(const Store&) = delete;
    ~Store();
    // All bytes are in the file.
    void done() noexcept { is_done_ = true; }

   private:
    CommittedState& state_;
    const FileReader& file_;
    const std::uint64_t end_;
    bool is_done_ = false;
  };

  // `head` is about to be written to `file`, or to be renamed into its place.
  void begin_publish(const Head& head, const FileReader& file);
  // It was, with index and trailer at `tail`, of which that is the checksum.
  void publish(const Head& head, const FileReader& file, codec::ByteRange tail,
               std::uint64_t tail_checksum);

  // The file is about to end at `end`, and does so now.
  void begin_truncate(std::uint64_t end);
  void truncated(const FileReader& file, std::uint64_t end);

  // The times of `file` were set by us.
  void note_times(const FileReader& file);

 private:
  struct State {
    Head head{};
    std::uint64_t device = 0;
    std::uint64_t inode = 0;
    std::optional<std::pair<Head, std::uint64_t>> next;  // head and inode
    std::uint64_t header_len = 0;
    codec::ByteRange tail;
    std::uint64_t layers_checksum = 0;
    std::uint64_t tail_checksum = 0;
    // The file ends between these: what is being stored may be there or not.
    std::uint64_t least_end = 0;
    std::uint64_t most_end = 0;
    timespec changed{};
    unsigned storing = 0;
    std::uint64_t stores = 0;  // begun or ended
    std::uint64_t turns = 0;   // publications, truncations
  };
  [[nodiscard]] State now() const {
    return state_.with([](const State& state) { return state; });
  }
  static bool looks_like(const State& state, const Head& head, const struct stat& st);
  static Result<bool> has_same_rest(const State& state, const FileReader& file);

  // Mutable: holds() remembers a time that turned out to be harmless.
  mutable Guarded<State> state_;
};

}  // namespace framefs::fs
