#include "fs/fuse/session/request_loop.h"

#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <list>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "fs/core/files/file.h"
#include "fs/core/threads/background_thread.h"
#include "fs/core/threads/guarded.h"
#include "fs/core/threads/may_wait.h"
#include "fs/fuse/session/brief_wait.h"
#include "fs/fuse/session/end_signals.h"
#include "fs/fuse/session/raw_requests.h"
#include "fs/fuse/session/waiting_requests.h"

namespace framefs::fuse {
namespace {

// The limit of bytes of requests that wait for a thread that runs operations. Further requests stay
// in the kernel until there is room.
constexpr std::size_t kMaxWaitingBytes = 32u << 20;

// The signal that interrupts a thread that waits for a request; it has no other use.
constexpr int kWakeSignal = SIGUSR2;

// More threads than these end when the requests of an interval needed fewer. An interval begins
// when the previous one ends, and only while there are more.
constexpr std::size_t kFewThreads = 2;
constexpr timespec kInterval{.tv_sec = 3, .tv_nsec = 0};

// Source: linux/fuse.h, struct fuse_in_header, whose second field is the opcode, and enum
// fuse_opcode.
// NOLINTNEXTLINE(performance-enum-size): the size of the field
enum class Opcode : std::uint32_t {
  forget = 2,
  setattr = 4,
  unlink = 10,
  rename = 12,
  open = 14,
  read = 15,
  write = 16,
  fsync = 20,
  setxattr = 21,
  getxattr = 22,
  removexattr = 24,
  flush = 25,
  init = 26,
  fsyncdir = 30,
  interrupt = 36,
  destroy = 38,
  batch_forget = 42,
  fallocate = 43,
  rename2 = 45,
  lseek = 46,
};

enum class Kind : std::uint8_t {
  control,    // answered at once, or needs no answer, and never waits
  prompt,     // waits at most for the bytes that it asks for
  may_wait,   // can be repeated if it would have to wait
  long_work,  // waits for a disk, or for the commit of a frame
};

// 0, which no request has, if the request is too short.
Opcode opcode_of(const fuse_buf& request) {
  constexpr std::size_t kOpcodeAt = 4;
  std::uint32_t opcode = 0;
  if (request.size < kOpcodeAt + sizeof(opcode)) return Opcode{};
  std::memcpy(&opcode, static_cast<const char*>(request.mem) + kOpcodeAt, sizeof(opcode));
  return Opcode{opcode};
}

Kind kind_of(const fuse_buf& request) {
  switch (opcode_of(request)) {
    case Opcode::forget:
    case Opcode::init:
    case Opcode::interrupt:
    case Opcode::destroy:
    case Opcode::batch_forget:
      return Kind::control;
    case Opcode::setattr:
    case Opcode::open:
    case Opcode::read:
    case Opcode::lseek:
    case Opcode::write:
    case Opcode::setxattr:
    case Opcode::getxattr:
    case Opcode::removexattr:
    case Opcode::flush:
      return Kind::may_wait;
    case Opcode::unlink:
    case Opcode::rename:
    case Opcode::fsync:
    case Opcode::fsyncdir:
    case Opcode::fallocate:
    case Opcode::rename2:
      return Kind::long_work;
    default:
      return Kind::prompt;
  }
}

// The buffer that requests are received in; libfuse allocates it.
struct ReceiveBuffer {
  ReceiveBuffer() = default;
  ReceiveBuffer(const ReceiveBuffer&) = delete;
  ReceiveBuffer& operator=(const ReceiveBuffer&) = delete;
  // NOLINTNEXTLINE(cppcoreguidelines-no-malloc, cppcoreguidelines-owning-memory): libfuse's memory
  ~ReceiveBuffer() { std::free(request.mem); }
  fuse_buf request{};
};

void ignore(int) {}

void post(const fs::UniqueFd& event) {
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto told = ::write(event.get(), &one, sizeof(one));
}

void drain(const fs::UniqueFd& event) {
  std::uint64_t count = 0;
  [[maybe_unused]] const auto got = ::read(event.get(), &count, sizeof(count));
}

}  // namespace

struct RequestLoop::Threads {
  Threads(fuse_session* serving, const SignalListener& listener, std::size_t most)
      : session(serving),
        signals(listener),
        max_serving(most),
        ended(::eventfd(0, EFD_CLOEXEC)),
        grown(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
        waiting_requests([this](auto& request) { pass(request); }) {}

  struct Thread {
    std::atomic<bool> is_receiving{true};
    std::jthread thread;
  };
  struct State {
    std::list<Thread> threads;
    std::list<Thread> ended;  // to be joined
    std::size_t receiving = 0;
    std::size_t serving = 0;
    std::size_t most_serving = 0;  // in the present interval
    std::size_t surplus = 0;       // threads that are to end
    std::deque<std::vector<char>> waiting;
    std::size_t waiting_bytes = 0;
  };

  using Place = std::list<Thread>::iterator;

  void start();
  void receive(Place self);
  bool retire(Place self);
  void end_surplus();
  [[nodiscard]] bool has_request() const;
  bool take(fuse_buf& request);
  void serve(fuse_buf& request);
  void process(fuse_buf& request);
  void pass(fuse_buf& request) { process_request(session, request); }
  void wait_for_end();
  void stop();

  fuse_session* const session;
  const SignalListener& signals;
  const std::size_t max_serving;  // one more thread receives requests
  // Sequentially consistent, as Thread::is_receiving is: a thread stores that it receives and then
  // looks here; stop() stores here and then looks which threads receive.  One sees the other.
  std::atomic<bool> is_stopping{false};
  std::atomic<bool> has_init{false};  // of a flag alone
  std::function<void()> on_init;      // set before the first thread starts
  const fs::UniqueFd ended;           // becomes readable when the session has ended by itself
  const fs::UniqueFd grown;           // becomes readable when there are many threads
  BriefWait brief_wait;
  fs::Guarded<State> state;
  WaitingRequests waiting_requests;
};

RequestLoop::RequestLoop(fuse_session* session, const SignalListener& signals,
                         std::size_t max_serving)
    : threads_(std::make_unique<Threads>(session, signals, max_serving)) {}
RequestLoop::~RequestLoop() = default;

// If the system allows no more threads, the existing threads serve all requests.
void RequestLoop::Threads::start() {
  state.with([this](State& now) {
    if (now.receiving > 0 || now.threads.size() > max_serving) return;
    const auto fresh = now.threads.emplace(now.threads.end());
    try {
      fresh->thread = fs::background_thread([this, fresh](const std::stop_token&) {
        sigset_t wake;
        sigemptyset(&wake);
        sigaddset(&wake, kWakeSignal);
        pthread_sigmask(SIG_UNBLOCK, &wake, nullptr);
        receive(fresh);
      });
      ++now.receiving;
      if (now.threads.size() == kFewThreads + 1) post(grown);
    } catch (const std::system_error&) {
      now.threads.erase(fresh);
    }
  });
}

// Ends the calling thread if there are too many. Returns whether it must end.
bool RequestLoop::Threads::retire(Place self) {
  return state.with([&](State& now) {
    // One thread always receives.
    if (now.surplus == 0 || now.receiving < 2) return false;
    --now.surplus;
    --now.receiving;
    now.ended.splice(now.ended.end(), now.threads, self);
    return true;
  });
}

// The end of an interval: as many threads stay as it needed, one of them to receive.
void RequestLoop::Threads::end_surplus() {
  auto joined = state.with([](State& now) {
    const auto needed = std::max(std::exchange(now.most_serving, now.serving) + 1, kFewThreads);
    now.surplus = now.threads.size() - std::min(needed, now.threads.size());
    auto left = now.surplus;
    for (auto& each : now.threads) {
      if (left == 0) break;
      if (!each.is_receiving.load()) continue;
      --left;
      pthread_kill(each.thread.native_handle(), kWakeSignal);
    }
    return std::exchange(now.ended, {});
  });
}

// Whether there is a request, or another reason not to wait for one.
bool RequestLoop::Threads::has_request() const {
  pollfd connection{.fd = fuse_session_fd(session), .events = POLLIN, .revents = 0};
  return ::poll(&connection, 1, 0) != 0;
}

// The body of each thread.
void RequestLoop::Threads::receive(Place self) {
  ReceiveBuffer buffer;
  // After a read, the threads that decode ahead and store pages need the processors.
  bool may_come_soon = false;
  while (true) {
    self->is_receiving.store(true);
    if (is_stopping.load() || fuse_session_exited(session) != 0) break;
    if (may_come_soon) brief_wait.wait([this] { return has_request(); });
    const int got = fuse_session_receive_buf(session, &buffer.request);
    self->is_receiving.store(false);
    if (got == -EINTR || got == -EAGAIN) {
      if (retire(self)) return;
      continue;
    }
    if (got <= 0) {
      fuse_session_exit(session);
      break;
    }
    if (kind_of(buffer.request) == Kind::control) {
      const bool is_init = opcode_of(buffer.request) == Opcode::init;
      pass(buffer.request);
      // A kernel with a newer protocol sends INIT twice.
      if (is_init && !has_init.exchange(true, std::memory_order_relaxed)) on_init();
    } else if (take(buffer.request)) {
      start();  // another thread that receives
      serve(buffer.request);
    }
    may_come_soon = opcode_of(buffer.request) != Opcode::read;
  }
  self->is_receiving.store(false);
  post(ended);
}

// Whether the calling thread must serve the request. If not, the request is queued for another
// thread. Waits while the queue is full.
bool RequestLoop::Threads::take(fuse_buf& request) {
  const auto decide = [&](State& now) {
    if (now.serving < max_serving) {
      ++now.serving;
      --now.receiving;
      now.most_serving = std::max(now.most_serving, now.serving);
      return true;
    }
    const auto* const begin = static_cast<const char*>(request.mem);
    now.waiting.emplace_back(begin, begin + request.size);
    now.waiting_bytes += request.size;
    return false;
  };
  return state.wait_unless([this] { return fuse_session_exited(session) != 0; },
                           [this](const State& now) {
                             return now.serving < max_serving ||
                                    now.waiting_bytes < kMaxWaitingBytes;
                           },
                           decide);
}

// Serves a request, or passes it to the threads that may wait.
void RequestLoop::Threads::process(fuse_buf& request) {
  const auto kind = kind_of(request);
  if (kind == Kind::long_work && waiting_requests.add(request)) return;
  if (kind == Kind::may_wait) {
    const fs::NoWaitScope scope;
    pass(request);
    if (!scope.is_to_be_repeated()) return;
    // Nothing was done and nothing answered.
    if (waiting_requests.add(request)) return;
  }
  pass(request);
}

void RequestLoop::Threads::serve(fuse_buf& request) {
  process(request);
  while (true) {
    auto next = state.with_and_wake([this](State& now) -> std::optional<std::vector<char>> {
      if (now.waiting.empty() || fuse_session_exited(session) != 0) {
        --now.serving;
        ++now.receiving;
        return std::nullopt;
      }
      auto first = std::move(now.waiting.front());
      now.waiting.pop_front();
      now.waiting_bytes -= first.size();
      return first;
    });
    if (!next) return;
    fuse_buf waited{};
    waited.size = next->size();
    waited.mem = next->data();
    process(waited);
  }
}

// The signals that end the mount are unblocked only inside ppoll().  Hence none is lost between the
// check and the wait.
void RequestLoop::Threads::wait_for_end() {
  const sigset_t ending = EndSignals::set();
  sigset_t before;
  pthread_sigmask(SIG_BLOCK, &ending, &before);
  std::array<pollfd, 3> events{pollfd{.fd = ended.get(), .events = POLLIN, .revents = 0},
                               pollfd{.fd = signals.fd(), .events = POLLIN, .revents = 0},
                               pollfd{.fd = grown.get(), .events = POLLIN, .revents = 0}};
  while (!is_ending(session)) {
    const bool has_many =
        state.with([](const State& now) { return now.threads.size() > kFewThreads; });
    const int ready =
        ::ppoll(events.data(), events.size(), has_many ? &kInterval : nullptr, &before);
    if (ready == 0) end_surplus();
    if (ready <= 0) continue;
    if (events[0].revents != 0) break;
    if (events[1].revents != 0) signals.run_actions();
    if (events[2].revents != 0) drain(grown);
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void RequestLoop::Threads::stop() {
  is_stopping.store(true);
  fuse_session_exit(session);
  // A thread may be about to wait when the signal arrives; the next round wakes it again.
  constexpr std::chrono::milliseconds kPause{1};
  const auto wake = [](State& now) {
    bool is_any_receiving = false;
    for (auto& each : now.threads) {
      if (!each.is_receiving.load()) continue;
      is_any_receiving = true;
      pthread_kill(each.thread.native_handle(), kWakeSignal);
    }
    return is_any_receiving;
  };
  while (state.with(wake)) std::this_thread::sleep_for(kPause);
  // From here on, no thread starts another.
  auto all = state.with([](State& now) {
    std::vector<std::jthread> threads;
    for (auto& each : now.threads) threads.push_back(std::move(each.thread));
    for (auto& each : now.ended) threads.push_back(std::move(each.thread));
    return threads;
  });
  all.clear();  // joins
  waiting_requests.stop();
}

Status RequestLoop::run(const std::function<void()>& on_init,
                        const std::function<void()>& before_end) {
  threads_->on_init = on_init;
  struct sigaction action{};
  struct sigaction before{};
  action.sa_handler = ignore;
  ::sigaction(kWakeSignal, &action, &before);
  threads_->start();
  const bool is_serving =
      threads_->state.with([](const auto& now) { return !now.threads.empty(); });
  if (is_serving) threads_->wait_for_end();
  before_end();
  threads_->stop();
  ::sigaction(kWakeSignal, &before, nullptr);
  if (!is_serving) return fs::system_error_of(EAGAIN, "threads that serve the mount");
  return {};
}

}  // namespace framefs::fuse
