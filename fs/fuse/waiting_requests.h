#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <thread>
#include <vector>

#include <fuse_lowlevel.h>

#include "fs/core/guarded.h"

namespace framefs::fuse {

// Threads for the requests that wait for other work: for room in the overlay, for a frame that
// another process owns, for a sync. The threads that answer all other requests never wait for
// these.
// Threads: any number.
class WaitingRequests {
 public:
  using Serve = std::function<void(fuse_buf&)>;
  // serve(request) answers a request; it runs on the threads of this object.
  explicit WaitingRequests(Serve serve) : serve_(std::move(serve)) {}
  WaitingRequests(const WaitingRequests&) = delete;
  WaitingRequests& operator=(const WaitingRequests&) = delete;
  ~WaitingRequests() { stop(); }

  // Copies a request, to be served by one of the threads. Returns false if too many bytes wait
  // already, or if there can be no thread: the caller then serves the request itself.
  bool add(const fuse_buf& request);
  // Returns when all threads have ended. Drops the requests that none of them has begun.
  void stop();

 private:
  struct State {
    std::deque<std::vector<char>> requests;
    std::size_t bytes = 0;  // of these and of the requests being served
    std::vector<std::jthread> threads;
    std::size_t idle = 0;
    bool is_ending = false;
  };
  void start_thread(State& now);
  void run();

  const Serve serve_;
  fs::Guarded<State> state_;
};

}  // namespace framefs::fuse
