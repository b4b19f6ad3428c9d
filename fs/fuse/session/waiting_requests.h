#pragma once

#include <cstddef>
#include <functional>
#include <utility>

#include <fuse_lowlevel.h>

#include "fs/core/threads/guarded.h"
#include "fs/core/threads/task_threads.h"

namespace framefs::fuse {

// Threads for the requests that wait for other work: for room in the overlay, for a frame that
// another process owns, for a sync. The threads that answer all other requests never wait for
// these.
// Threads: any number.
class WaitingRequests {
 public:
  using Serve = std::function<void(fuse_buf&)>;
  // serve(request) answers a request; it runs on the threads of this object.
  explicit WaitingRequests(Serve serve);

  // Copies a request, to be served by one of the threads. Returns false if too many bytes wait
  // already, or if there can be no thread: the caller then serves the request itself.
  bool add(const fuse_buf& request);
  // Returns when all threads have ended. Drops the requests that none of them has begun.
  void stop() { threads_.stop(); }

 private:
  const Serve serve_;
  fs::Guarded<std::size_t> bytes_;  // of the requests that wait or are being served
  fs::TaskThreads threads_;
};

}  // namespace framefs::fuse
