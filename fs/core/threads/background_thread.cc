#include "fs/core/threads/background_thread.h"

#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <system_error>
#include <utility>

namespace framefs::fs {
namespace {

class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t all;
    sigfillset(&all);
    // A fault of the thread itself ends the process without its handler if the signal is blocked.
    for (const int fault : {SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGSEGV}) sigdelset(&all, fault);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;
  ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_{};
};

}  // namespace

std::jthread background_thread(std::function<void(std::stop_token)> body) {
  const SignalsBlocked blocked;
  return std::jthread(std::move(body));
}

bool start_thread(std::jthread& thread, std::function<void(std::stop_token)> body) {
  if (thread.joinable()) return true;
  try {
    thread = background_thread(std::move(body));
  } catch (const std::system_error&) {
    return false;
  }
  return true;
}

void give_way() noexcept {
  // One step changes a thread's weight by a quarter; ten steps leave a tenth of the default weight.
  constexpr int kSteps = 10;
  // In Linux, niceness belongs to a thread. If setpriority() fails, the thread keeps the default
  // priority.
  const auto self = static_cast<id_t>(::gettid());
  ::setpriority(PRIO_PROCESS, self, ::getpriority(PRIO_PROCESS, self) + kSteps);
}

}  // namespace framefs::fs
