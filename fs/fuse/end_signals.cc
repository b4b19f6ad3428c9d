#include "fs/fuse/end_signals.h"

#include <atomic>
#include <cstddef>

namespace framefs::fuse {
namespace {

std::atomic<bool> has_arrived{false};
static_assert(std::atomic<bool>::is_always_lock_free);  // the handler sets it

void note(int) { has_arrived.store(true); }

}  // namespace

EndSignals::EndSignals() {
  has_arrived.store(false);
  for (std::size_t i = 0; i < std::size(kSignals); ++i) {
    ::sigaction(kSignals[i], nullptr, &before_[i]);
    if (before_[i].sa_handler != SIG_DFL) continue;
    struct sigaction action{};
    action.sa_handler = kSignals[i] == SIGPIPE ? SIG_IGN : note;
    ::sigaction(kSignals[i], &action, nullptr);
  }
}

EndSignals::~EndSignals() {
  for (std::size_t i = 0; i < std::size(kSignals); ++i) {
    ::sigaction(kSignals[i], &before_[i], nullptr);
  }
}

bool is_ending(fuse_session* session) noexcept {
  return has_arrived.load() || fuse_session_exited(session) != 0;
}

}  // namespace framefs::fuse
