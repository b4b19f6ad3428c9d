#pragma once

#include <chrono>
#include <functional>
#include <stop_token>
#include <thread>
#include <utility>

#include "fs/core/guarded.h"

namespace framefs::fs {

// Starts a thread in which all signals are blocked. The signals that end the mount are for the
// thread that waits for them.
std::jthread background_thread(std::function<void(std::stop_token)> body);

// A background thread that tells the kernel something about a mount.  The kernel may let it wait
// for a request that is no longer answered, until the connection to the kernel is closed.
// Threads: one, that of the owner.
class KernelThread {
 public:
  void start(std::function<void()> body);
  // Waits until the body has ended, which the owner has told it to do, but at most for `patience`.
  void await_end(std::chrono::milliseconds patience);
  // Waits until the body has ended.
  void join();

 private:
  Guarded<bool> is_over_{std::in_place, true};
  std::jthread thread_;
};

// Lowers the priority of the calling thread for the rest of its life. Other threads then preempt
// it, but it still gets a small share of the CPU: a thread that waits for its result is delayed,
// but not blocked, however busy the machine is.
void give_way() noexcept;

}  // namespace framefs::fs
