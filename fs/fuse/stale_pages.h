#pragma once

#include <cstdint>
#include <functional>
#include <thread>
#include <unordered_map>

#include "fs/core/guarded.h"
#include "fs/tree/node.h"

namespace framefs::fuse {

// Tells the kernel which cached pages of a file are stale, and that the cached size is stale.
// Before the kernel drops pages, it waits for the requests in flight that have locked them. Hence a
// separate thread does this: a thread that answers requests would wait for itself.
// Threads: any number.
class StalePages {
 public:
  // Drops the attributes of a file, and its pages from `offset` on.
  using Drop = std::function<void(fs::NodeId, std::uint64_t offset)>;

  StalePages() = default;
  StalePages(const StalePages&) = delete;
  StalePages& operator=(const StalePages&) = delete;
  ~StalePages() { stop(); }

  // From now on until stop(), calls of note() are passed on to `drop`.
  void start(Drop drop);
  void stop();

  // Must be called after the reply to the request that detected the stale pages, because that
  // request has pages locked until then.
  void note(fs::NodeId node, std::uint64_t offset);

 private:
  struct State {
    std::unordered_map<fs::NodeId, std::uint64_t> wrong;  // the offset of the first stale byte
    bool is_running = false;
  };
  void serve(const Drop& drop);

  fs::Guarded<State> state_;
  std::jthread thread_;
};

}  // namespace framefs::fuse
