#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <thread>

#include "fs/core/threads/guarded.h"

namespace framefs::fuse {

// Unmounts a mount that nobody has used for some time.  A mount is in use if it gets requests, has
// written data that is not stored, or cannot be unmounted because a file in it is open.
class IdleUnmount {
 public:
  struct Mount {
    std::function<std::uint64_t()> requests;  // the number of requests so far
    std::function<bool()> has_written_data;
    // Unmounts.  Returns false if the mount is in use.
    std::function<bool()> unmount_if_unused;
  };

  // Starts a thread, which ends after it has unmounted.  `time` is not 0.
  IdleUnmount(std::chrono::milliseconds time, Mount mount);
  IdleUnmount(const IdleUnmount&) = delete;
  IdleUnmount& operator=(const IdleUnmount&) = delete;
  // Waits for a call of `unmount_if_unused` to end.
  ~IdleUnmount();

 private:
  void watch();
  bool pause();

  const std::chrono::milliseconds time_;
  const Mount mount_;
  fs::Guarded<bool> is_ending_{std::in_place, false};
  std::jthread thread_;
};

}  // namespace framefs::fuse
