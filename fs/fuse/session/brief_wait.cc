#include "fs/fuse/session/brief_wait.h"

#include <sched.h>

#include <algorithm>
#include <chrono>
#include <thread>

namespace framefs::fuse {
namespace {

// More does not help, and 10 microseconds are too short for half of the requests (RESULTS.md).
constexpr std::chrono::microseconds kMoment{30};

// If another program needs the processor, the yield takes longer than the moment.
bool comes_soon(const std::function<bool()>& has_request) {
  const auto end = std::chrono::steady_clock::now() + kMoment;
  do {
    std::this_thread::yield();
    if (std::chrono::steady_clock::now() >= end) return false;
  } while (!has_request());
  return true;
}

}  // namespace

bool BriefWait::has_processors() noexcept {
  cpu_set_t processors;
  // It fails if there are more than a set has room for.
  return ::sched_getaffinity(0, sizeof(processors), &processors) != 0 || CPU_COUNT(&processors) > 1;
}

void BriefWait::wait(const std::function<bool()>& has_request) {
  if (!is_useful_ || is_waiting_.exchange(true, std::memory_order_acquire)) return;
  if (left_out_ > 0) {
    --left_out_;
  } else if (!has_request()) {
    in_vain_ = comes_soon(has_request) ? 0 : std::min(in_vain_ + 1, kMaxInVain);
    left_out_ = (1u << in_vain_) - 1;
  }
  is_waiting_.store(false, std::memory_order_release);
}

}  // namespace framefs::fuse
