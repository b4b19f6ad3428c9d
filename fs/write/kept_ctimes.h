#pragma once

#include <cstddef>
#include <cstdint>
#include <ctime>
#include <deque>
#include <optional>
#include <unordered_map>

#include "fs/core/files/file.h"
#include "fs/core/threads/guarded.h"

namespace framefs::fs {

// The times of the last change that users see, of files whose own time a commit of this mount has
// moved.  Remembers the latest files, also those that the kernel has forgotten.
// Threads: any number.
class KeptCtimes {
 public:
  explicit KeptCtimes(std::size_t max_files = kMaxFiles) : max_files_(max_files) {}

  // To be shown while the file is in the state `identity`.
  void keep(const FileIdentity& identity, const timespec& ctime);
  [[nodiscard]] std::optional<timespec> find(const FileIdentity& identity) const;

 private:
  // About 8 MiB.
  static constexpr std::size_t kMaxFiles = 1u << 17;
  struct State {
    std::unordered_map<std::uint64_t, timespec> by_hash;  // 64 bits, so that no two files share one
    std::deque<std::uint64_t> order;                      // the oldest first
  };
  const std::size_t max_files_;
  Guarded<State> state_;
};

}  // namespace framefs::fs
