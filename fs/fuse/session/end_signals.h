#pragma once

#include <csignal>
#include <iterator>

#include <fuse_lowlevel.h>

namespace framefs::fuse {

// Notes SIGHUP, SIGINT and SIGTERM while it exists, unless they are ignored, and ignores SIGPIPE.
// The handlers of libfuse would end the session at once; requests would then remain unanswered for
// which a thread of the daemon may wait in the kernel.
// Threads: at most one object at a time.
class EndSignals {
 public:
  EndSignals();
  EndSignals(const EndSignals&) = delete;
  EndSignals& operator=(const EndSignals&) = delete;
  ~EndSignals();
  // The signals that end a mount.
  static sigset_t set() noexcept;

 private:
  static constexpr int kSignals[] = {SIGHUP, SIGINT, SIGTERM};
  struct sigaction before_[std::size(kSignals)]{};
  struct sigaction before_pipe_{};
};

// Whether the mount ends: its session has ended, or a signal has asked for it.
bool is_ending(fuse_session* session) noexcept;

}  // namespace framefs::fuse
