#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "fs/core/resources/descriptor_shares.h"
#include "fs/core/threads/guarded.h"
#include "fs/tree/filesystem.h"

namespace framefs::fuse {

// A directory that a caller has open. The listing is taken when reading starts and when it
// restarts.
struct FolderHandle {
  std::unique_ptr<fs::OpenFolder> directory;
  fs::Guarded<std::shared_ptr<const fs::ShownListing>> listing;  // which uses `directory`
  fs::DescriptorShares::Share descriptors;
};

// Open files or directories, by the numbers that FUSE passes back to the daemon. Objects that are
// still open when the mount ends get no release request; the table destroys them.
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

  // Null if the number was never given out, or was removed.
  [[nodiscard]] std::shared_ptr<T> find(std::uint64_t number) const {
    return state_.with([&](const State& state) -> std::shared_ptr<T> {
      const auto at = state.objects.find(number);
      return at == state.objects.end() ? nullptr : at->second;
    });
  }

  void remove(std::uint64_t number) {
    std::shared_ptr<T> removed;  // destroyed after the lock is released
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
