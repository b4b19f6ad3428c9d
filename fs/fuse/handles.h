#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "fs/core/guarded.h"
#include "fs/tree/filesystem.h"

namespace framefs::fuse {

// A directory that somebody reads: the listing is taken when reading starts, or starts over.
struct FolderHandle {
  std::unique_ptr<fs::OpenFolder> directory;
  fs::Guarded<std::shared_ptr<const std::vector<fs::DirectoryEntry>>> listing;
};

// What is open, by the numbers that FUSE carries round for us.  What is still open when the mount ends,
// and will not be released any more, goes with the table.
// Threads: any number.
template <class T>
class HandleTable {
 public:
  std::uint64_t add(std::shared_ptr<T> object) {
    return state_.with([&](State& state) {
      state.objects.emplace(state.next, std::move(object));
      return state.next++;
    });
  }

  // Null for a number that was not given out, or was removed.
  [[nodiscard]] std::shared_ptr<T> find(std::uint64_t number) const {
    return state_.with([&](const State& state) -> std::shared_ptr<T> {
      const auto at = state.objects.find(number);
      return at == state.objects.end() ? nullptr : at->second;
    });
  }

  void remove(std::uint64_t number) {
    std::shared_ptr<T> removed;  // destroyed after the lock
    state_.with([&](State& state) {
      const auto at = state.objects.find(number);
      if (at == state.objects.end()) return;
      removed = std::move(at->second);
      state.objects.erase(at);
    });
  }

 private:
  struct State {
    std::unordered_map<std::uint64_t, std::shared_ptr<T>> objects;
    std::uint64_t next = 1;
  };
  fs::Guarded<State> state_;
};

}  // namespace framefs::fuse
