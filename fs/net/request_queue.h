#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "fs/core/guarded.h"
#include "fs/net/concurrency_limit.h"
#include "fs/net/latency_model.h"
#include "fs/net/net_stats.h"
#include "fs/net/transport.h"

namespace framefs::net {

// A reader waits for what is demanded; what is prefetched gives way to it.
enum class Priority : std::uint8_t { demand, prefetch };

// What an answer means for the call.
struct Verdict {
  enum class Kind : std::uint8_t {
    done,       // it is the one that was wanted
    again,      // another request is to be made at once: the server named another place
    retry,      // the same request may bring another answer, after a pause
    slow_down,  // likewise, but the server has too much to do
    doubtful,   // it breaks the rules; a few more attempts, for it may have been a stray proxy
    failed,     // trying again is useless
  } kind = Kind::done;
  Error error{};  // of all but done
};

// Something that is wanted from a server, over as many attempts as that takes.
struct Call {
  // The request, made anew for each attempt: signatures hold a time.  Runs on any thread and must
  // not wait.  Errors: with EAGAIN the call is tried again later.
  std::function<Result<HttpRequest>()> make;
  // Likewise.
  std::function<Verdict(const HttpAnswer&)> judge;
  RequestKind kind = RequestKind::get;
  Priority priority = Priority::demand;
  std::uint64_t expected_bytes = 0;
  // For all attempts together; past it the call fails with EIO.
  std::chrono::milliseconds time{60'000};
};

// The requests of a mount: demand before prefetch, no more at once than the server takes, again
// where one failed in passing, and a second one beside one that seems to have stalled.
// Threads: any number.
class RequestQueue {
 public:
  using Id = std::uint64_t;
  // Called once, on any thread, also from inside start(); not after cancel() has returned true.
  using Done = std::function<void(Result<HttpAnswer>)>;

  // Lifetime: both outlive it.
  RequestQueue(Transport& transport, NetStats& stats);
  RequestQueue(const RequestQueue&) = delete;
  RequestQueue& operator=(const RequestQueue&) = delete;
  // The transport calls back no more: it is stopped first.
  ~RequestQueue();

  Id start(Call call, Done done);
  // False where the call has ended, or is just ending.
  bool cancel(Id id);
  // A reader waits now for what was prefetched.
  void raise(Id id);

  // Starts a call and waits for its end.
  // Errors: as the call; system, EINTR, where the operation of this thread is interrupted.
  Result<HttpAnswer> run(Call call);

  // As LatencyModel.
  [[nodiscard]] std::uint64_t cheap_gap_bytes() const;
  [[nodiscard]] std::uint64_t pipe_bytes() const;
  [[nodiscard]] std::size_t limit() const;

 private:
  using Time = Transport::Clock::time_point;
  struct Attempt {
    std::uint64_t number;
    Time sent;
    Transport::Ticket ticket = 0;  // 0 until the transport has it
    Priority priority;             // under which it counts
  };
  struct Work {
    Call call;
    Done done;
    Time deadline;
    std::vector<Attempt> attempts;
    std::uint64_t attempts_made = 0;
    std::uint64_t doubtful_answers = 0;
    Transport::Ticket timer = 0;  // for a retry, or for a second attempt
  };
  using Works = std::unordered_map<Id, std::shared_ptr<Work>>;
  struct State {
    Works works;
    std::deque<Id> demanded;    // which wait for a slot
    std::deque<Id> prefetched;  // likewise
    std::size_t active = 0;
    std::size_t active_prefetches = 0;
    ConcurrencyLimit limit;
    LatencyModel latency;
    double hedge_budget = 2;
    Id next_id = 1;
  };
  // What is done outside the lock after a change of state.
  struct Ending {
    std::shared_ptr<Work> work;
    Result<HttpAnswer> result;
    std::vector<Transport::Ticket> cancelled;
  };

  void pump();
  // The next work that may be sent, with an attempt begun; null where there is none.
  static std::shared_ptr<Work> take_next(State& state, Time now, Id& id);
  void send(Id id, const std::shared_ptr<Work>& work, std::uint64_t attempt);
  void note_ticket(Id id, std::uint64_t attempt, Transport::Ticket ticket);
  void on_answer(Id id, std::uint64_t attempt, Result<HttpAnswer> answer);
  void on_hedge_time(Id id, std::uint64_t attempt);
  void retry_later(Id id);
  void queue_again(Id id);
  void set_timer(Id id, Time when, std::function<void()> body);
  void end(Ending ending);

  static Attempt& begin_attempt(State& state, Work& work, Time now);
  static void end_attempt(State& state, Work& work, std::uint64_t number);
  static Ending take_out(State& state, Id id, Result<HttpAnswer> result);
  // What becomes of a work after an answer that is not the wanted one; nothing where it goes on.
  static std::optional<Ending> weigh(State& state, Id id, Work& work, const Verdict& verdict,
                                     Time now);

  Transport& transport_;
  NetStats& stats_;
  fs::Guarded<State> state_;
};

}  // namespace framefs::net
