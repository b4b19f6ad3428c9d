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

  // From now on until settle(), calls of note() are passed on to `drop`.
  void start(Drop drop);
  // Must be called before the connection to the kernel is closed: `drop` uses it.  Waits until no
  // call of `drop` is running, but not for ever: the kernel may wait for pages of a request that is
  // no longer answered, until the connection is closed.
  void settle();
  // Joins the thread.
  void stop();

  // Must be called after the reply to the request that detected the stale pages, because that
  // request has pages locked until then.
  void note(fs::NodeId node, std::uint64_t offset);

 private:
  struct State {
    std::unordered_map<fs::NodeId, std::uint64_t> wrong;  // the offset of the first stale byte
    bool is_running = false;
    bool is_thread_done = true;
  };
  void serve(const Drop& drop);

  fs::Guarded<State> state_;
  std::jthread thread_;
};

}  // namespace framefs::fuse
