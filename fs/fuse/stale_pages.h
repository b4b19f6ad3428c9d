#pragma once

#include <cstdint>
#include <functional>
#include <thread>
#include <unordered_map>

#include "fs/core/guarded.h"
#include "fs/tree/node.h"

namespace framefs::fuse {

// Tells the kernel which pages of a file are wrong, and that its size is.  The kernel waits for pages
// that requests under way have locked before it drops them.  Hence a thread of its own does this: a
// thread that answers requests would wait for itself.
// Threads: any number.
class StalePages {
 public:
  // Drops the pages of a file from a byte on, and its attributes.
  using Drop = std::function<void(fs::NodeId, std::uint64_t offset)>;

  StalePages() = default;
  StalePages(const StalePages&) = delete;
  StalePages& operator=(const StalePages&) = delete;
  ~StalePages() { stop(); }

  // From now on until stop(), what note() is told reaches `drop`.
  void start(Drop drop);
  void stop();

  // To be called after the reply to the request that has found out: until then it has pages locked.
  void note(fs::NodeId node, std::uint64_t offset);

 private:
  struct State {
    std::unordered_map<fs::NodeId, std::uint64_t> wrong;  // from which byte on
    bool is_running = false;
  };
  void serve(const Drop& drop);

  fs::Guarded<State> state_;
  std::jthread thread_;
};

}  // namespace framefs::fuse
