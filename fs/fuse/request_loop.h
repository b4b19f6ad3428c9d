#pragma once

#include <cstddef>
#include <memory>

#include <fuse_lowlevel.h>

#include "codec/core/result.h"

namespace framefs::fuse {

using codec::Status;

// Takes requests from the kernel and runs their operations, in threads that come when they are
// needed.  It is libfuse's loop but for one thing: there is always a thread that takes the next
// request.  An operation may take long, and then the kernel's word that its caller is being killed
// must not wait behind it, nor must what the kernel forgets.
class RequestLoop {
 public:
  // Lifetime: `session` outlives it.
  explicit RequestLoop(fuse_session* session);
  RequestLoop(const RequestLoop&) = delete;
  RequestLoop& operator=(const RequestLoop&) = delete;
  ~RequestLoop();

  // Serves until the mount is unmounted, or a signal that the calling thread has a handler for ends
  // the session.  All operations have ended then.
  // Errors: system, where the system allows no thread.
  Status run();

 private:
  struct Threads;
  const std::unique_ptr<Threads> threads_;
};

}  // namespace framefs::fuse
