#pragma once

#include <atomic>
#include <cstdint>

#include "fs/core/files/file.h"

namespace framefs::fs {

// The state of a file that the kernel was told of.
// Threads: any number.
class ToldState {
 public:
  // From now on, the kernel knows the state `identity`.
  void set(const FileIdentity& identity) noexcept;
  // From now on, the kernel knows the state for which is() is called next.
  void reset() noexcept;
  void reset_if_wrong() noexcept;
  // Whether `identity` has the inode, the size and the mtime of the state that the kernel knows.
  [[nodiscard]] bool is(const FileIdentity& identity) noexcept;
  // Notes that the file has another state.  Returns whether this is new since set() or reset().
  [[nodiscard]] bool note_change() noexcept {
    return (state_.fetch_or(kIsWrong, std::memory_order_relaxed) & kIsWrong) == 0;
  }

 private:
  static constexpr std::uint64_t kIsKnown = 1;
  static constexpr std::uint64_t kIsWrong = 2;  // see note_change()
  // The two marks, and a hash of the state, so that all parts change together.  Without kIsKnown,
  // it is the next state.  Relaxed: no other data depends on it.
  std::atomic<std::uint64_t> state_{0};
};

}  // namespace framefs::fs
