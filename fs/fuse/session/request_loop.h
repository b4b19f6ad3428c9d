#pragma once

#include <cstddef>
#include <functional>
#include <memory>

#include <fuse_lowlevel.h>

#include "codec/core/result.h"
#include "fs/fuse/session/signal_listener.h"

namespace framefs::fuse {

using codec::Status;

// Receives requests from the kernel and runs their operations, in threads that are started on
// demand. It differs from libfuse's loop in one point: there is always a thread that receives the
// next request. An operation may take long. Interrupt requests (the caller is being killed) and
// forget requests must not wait for it.
class RequestLoop {
 public:
  // The limit of operations that run concurrently, if they need processors.
  static constexpr std::size_t kMaxServing = 10;

  // Lifetime: `session` and `signals` outlive it.
  RequestLoop(fuse_session* session, const SignalListener& signals,
              std::size_t max_serving = kMaxServing);
  RequestLoop(const RequestLoop&) = delete;
  RequestLoop& operator=(const RequestLoop&) = delete;
  ~RequestLoop();

  // Serves until the mount is unmounted, or until a signal arrives that EndSignals notes; it must
  // not be blocked in the calling thread, which runs the actions of other signals.  Requests are
  // still served while `before_end` runs, which may thus wait for threads that wait for requests.
  // All operations have ended when run() returns.  `on_init` is called once, on another thread,
  // when the kernel has the answer to its first request (INIT): from then on, the mount answers
  // requests.
  // Errors: system, if the system allows no thread.
  Status run(const std::function<void()>& on_init, const std::function<void()>& before_end = [] {});

 private:
  struct Threads;
  const std::unique_ptr<Threads> threads_;
};

}  // namespace framefs::fuse
