#pragma once

#include <atomic>
#include <chrono>

#include "fs/net/http/timestamp.h"

namespace framefs::net {

// The time of the server, which signatures must use.  The clock of this machine may be wrong.
// Threads: any number.
class ServerClock {
 public:
  [[nodiscard]] UnixSeconds now() const {
    return local() + offset_.load(std::memory_order_relaxed);
  }
  // Sets the time that the server has just reported.
  void set(UnixSeconds server) { offset_.store(server - local(), std::memory_order_relaxed); }

 private:
  static UnixSeconds local() {
    using std::chrono::system_clock;
    return std::chrono::duration_cast<std::chrono::seconds>(system_clock::now().time_since_epoch())
        .count();
  }

  std::atomic<UnixSeconds> offset_{0};  // relaxed: no other data depends on it
};

}  // namespace framefs::net
