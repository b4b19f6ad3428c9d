#include "fs/fuse/session/idle_unmount.h"

#include <utility>

#include "fs/core/threads/background_thread.h"

namespace framefs::fuse {
namespace {

using Clock = std::chrono::steady_clock;

// A mount is looked at so often in its idle time.  It ends late by one interval at most.
constexpr int kLooks = 8;

}  // namespace

IdleUnmount::IdleUnmount(std::chrono::milliseconds time, Mount mount)
    : time_(time), mount_(std::move(mount)) {
  thread_ = fs::background_thread([this](const std::stop_token&) { watch(); });
}

IdleUnmount::~IdleUnmount() {
  is_ending_.with_and_wake([](bool& is_ending) { is_ending = true; });
}

// Returns false if the thread must end.
bool IdleUnmount::pause() {
  const auto end = Clock::now() + time_ / kLooks + std::chrono::milliseconds(1);
  return is_ending_.wait_until(
      end, [](bool is_ending) { return is_ending; }, [](bool is_ending) { return !is_ending; });
}

void IdleUnmount::watch() {
  auto seen = mount_.requests();
  auto last_use = Clock::now();
  while (pause()) {
    const auto requests = mount_.requests();
    const bool is_used = requests != seen || mount_.has_written_data();
    seen = requests;
    if (!is_used && Clock::now() - last_use < time_) continue;
    if (!is_used && mount_.unmount_if_unused()) return;
    last_use = Clock::now();
  }
}

}  // namespace framefs::fuse
