#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <thread>
#include <unordered_map>

#include "fs/core/threads/guarded.h"
#include "fs/tree/nodes/node.h"

namespace framefs::fuse {

// Makes the kernel drop cached pages and attributes of files, because the pages do not have the
// bytes of the file, or because a program may have changed them.  The kernel writes back what a
// program has changed in a page before it drops the page.
//
// Before the kernel drops pages, it waits for the requests in flight that have locked them, and for
// the writes that it sends.  Hence a separate thread does this: a thread that answers requests
// would wait for itself.
// Threads: any number.
class StalePages {
 public:
  // A part of a file.
  struct Range {
    static constexpr std::uint64_t kEndOfFile = std::numeric_limits<std::uint64_t>::max();
    std::uint64_t begin = 0;
    std::uint64_t end = kEndOfFile;
    [[nodiscard]] bool contains(const Range& other) const noexcept {
      return begin <= other.begin && other.end <= end;
    }
  };
  // Drops the attributes of a file, and its pages in the range.
  using Drop = std::function<void(fs::NodeId, Range)>;

  StalePages() = default;
  StalePages(const StalePages&) = delete;
  StalePages& operator=(const StalePages&) = delete;
  ~StalePages() { stop(); }

  // From now on until stop(), calls of note() are passed on to `drop`.
  void start(Drop drop);
  // Waits until no call of `drop` is running.  Must be called while requests are served: `drop` may
  // wait in the kernel for the pages of a request.
  void stop();

  // Must be called after the reply to the request that detected the stale pages, because that
  // request has pages locked until then.
  void note(fs::NodeId node, Range range);
  // Returns when the kernel has written back and dropped the pages of the range, or if the request
  // of the caller is cancelled or waits for too long.  The caller may wait, and its request has no
  // pages locked.
  void write_back(fs::NodeId node, Range range);

 private:
  struct State {
    std::unordered_map<fs::NodeId, Range> wrong;
    std::uint64_t rounds_begun = 0;  // in which the thread drops all that is noted
    std::uint64_t rounds_ended = 0;
    bool is_running = false;
  };
  void serve(const Drop& drop);
  static void add(State& state, fs::NodeId node, Range range);

  fs::Guarded<State> state_;
  std::jthread thread_;
};

}  // namespace framefs::fuse
