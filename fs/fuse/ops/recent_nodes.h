#pragma once

#include <cstddef>
#include <list>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "fs/core/threads/guarded.h"
#include "fs/tree/nodes/node.h"

namespace framefs::fuse {

// Open files or directories of the nodes that were read last, for requests without a handle.  An
// object is destroyed when the last request that uses it has ended.
// Threads: any number.
template <class T>
class RecentNodes {
 public:
  // The number of objects that are kept, each of which may hold a descriptor.
  explicit RecentNodes(std::size_t most) : most_(most) {}

  // The object of the node; `open`, () -> Result<std::shared_ptr<T>>, opens it if there is none.
  // Errors: those of `open`.
  template <class Open>
  codec::Result<std::shared_ptr<T>> get(const std::shared_ptr<fs::Node>& node, const Open& open) {
    if (auto known = find(*node)) return known;
    FRAMEFS_TRY(auto fresh, open());
    std::vector<Entry> dropped;  // destroyed after the lock
    return state_.with([&](State& state) -> codec::Result<std::shared_ptr<T>> {
      const auto at = state.places.find(node->id);
      if (at != state.places.end()) {
        // Another thread may have opened the same node meanwhile.
        if (at->second->node == node) return at->second->object;
        dropped.push_back(std::move(*at->second));
        state.entries.erase(at->second);
      }
      state.entries.push_front({node, fresh});
      state.places.insert_or_assign(node->id, state.entries.begin());
      while (state.entries.size() > most_) {
        state.places.erase(state.entries.back().node->id);
        dropped.push_back(std::move(state.entries.back()));
        state.entries.pop_back();
      }
      return std::move(fresh);
    });
  }

  void remove(fs::NodeId id) {
    Entry dropped;  // destroyed after the lock
    state_.with([&](State& state) {
      const auto at = state.places.find(id);
      if (at == state.places.end()) return;
      dropped = std::move(*at->second);
      state.entries.erase(at->second);
      state.places.erase(at);
    });
  }

 private:
  struct Entry {
    std::shared_ptr<fs::Node> node;
    std::shared_ptr<T> object;
  };
  using Entries = std::list<Entry>;  // the most recent first
  struct State {
    Entries entries;
    std::unordered_map<fs::NodeId, typename Entries::iterator> places;
  };

  // The object of the node, which becomes the most recent one; null if there is none.
  std::shared_ptr<T> find(const fs::Node& node) {
    return state_.with([&](State& state) -> std::shared_ptr<T> {
      const auto at = state.places.find(node.id);
      // A number may lead to another file by now.
      if (at == state.places.end() || at->second->node.get() != &node) return nullptr;
      state.entries.splice(state.entries.begin(), state.entries, at->second);
      return at->second->object;
    });
  }

  const std::size_t most_;
  fs::Guarded<State> state_;
};

}  // namespace framefs::fuse
