#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "fs/core/guarded.h"
#include "fs/net/http/concurrency_limit.h"
#include "fs/net/http/latency_model.h"
#include "fs/net/http/server_health.h"
#include "fs/net/http/transport.h"
#include "fs/net/http/verdict.h"
#include "fs/net/net_stats.h"

namespace framefs::net {

// A reader waits for a request of priority `demand`.  Requests of priority `prefetch` give way to
// it.
enum class Priority : std::uint8_t { demand, prefetch };

// One call to a server, which may take several attempts.
struct Call {
  // Makes a new request for each attempt, because signatures hold a time.  It runs on any thread
  // and must not wait.  Errors: after EAGAIN the queue tries the call again later.
  std::function<Result<HttpRequest>()> make;
  // Judges an answer.  It also runs on any thread and must not wait.
  std::function<Verdict(const HttpAnswer&)> judge;
  RequestKind kind = RequestKind::get;
  // The method and the object, for the log.
  std::string name = {};
  Priority priority = Priority::demand;
  std::uint64_t expected_bytes = 0;
  // The time for all attempts together.  After it the call fails with EIO.
  std::chrono::milliseconds time{60'000};
};

// The requests of a mount.  The queue sends demand before prefetch, and limits concurrent requests
// to the number that the server accepts.  It repeats a request after a transient failure, and sends
// a second request beside one that seems to have stalled.  Stalled requests leave their places to
// others, up to a number: a server may answer for some objects only.  Until a server has worked
// once, the URL may be wrong, and a mount waits for the answer: a call then fails after a few
// attempts, with the error of the last one.
// Threads: any number.
class RequestQueue {
 public:
  using Id = std::uint64_t;
  // The queue calls this once, on any thread, possibly inside start().  It does not call this after
  // cancel() has returned true.
  using Done = std::function<void(Result<HttpAnswer>)>;

  // Lifetime: all outlive it.
  RequestQueue(Transport& transport, NetStats& stats, ServerHealth& health);
  RequestQueue(const RequestQueue&) = delete;
  RequestQueue& operator=(const RequestQueue&) = delete;
  // The transport must be stopped before, so that it calls nothing back.
  ~RequestQueue();

  Id start(Call call, Done done);
  // Cancels a call.  False if the call has ended or is just ending.
  bool cancel(Id id);
  // Raises a prefetch to demand, because a reader now waits for it.
  void raise(Id id);

  // Starts a call and waits for its end.
  // Errors: those of the call; system, with EINTR, if the operation of this thread is interrupted.
  Result<HttpAnswer> run(Call call);

  // See LatencyModel.
  [[nodiscard]] std::uint64_t cheap_gap_bytes() const;
  [[nodiscard]] std::uint64_t pipe_bytes() const;
  [[nodiscard]] std::uint64_t first_pipe_bytes() const;
  [[nodiscard]] std::size_t limit() const;
  // Adds what is under way now.
  void add_to(NetStats::Counts& counts) const;

 private:
  using Time = Transport::Clock::time_point;
  struct Attempt {
    std::uint64_t number;
    Time sent;
    Transport::Ticket ticket = 0;  // 0 until the transport has it
    Priority priority;             // the priority under which the attempt counts
    bool has_stalled = false;      // the attempt counts in `stalled`, no longer in `active`
  };
  struct Work {
    Call call;
    Done done;
    Time deadline;
    std::vector<Attempt> attempts;
    std::uint64_t attempts_made = 0;
    std::uint64_t sent_in_vain = 0;  // attempts that failed after their request was made
    std::uint64_t doubtful_answers = 0;
    std::optional<Error> last_error;  // of the last attempt that was tried again
    Time not_before{};                // the server asks for no earlier attempt
    Transport::Ticket timer = 0;      // for a retry, or for a second attempt
  };
  // A call that failed comes after those that were not sent yet, which may succeed.
  enum class Turn : std::uint8_t { first, last };
  using Works = std::unordered_map<Id, std::shared_ptr<Work>>;
  struct State {
    Works works;
    std::deque<Id> demanded;    // calls that wait for a slot
    std::deque<Id> prefetched;  // prefetches that wait for a slot
    std::size_t active = 0;
    std::size_t active_prefetches = 0;
    std::size_t stalled = 0;
    ConcurrencyLimit limit;
    LatencyModel latency;
    double hedge_budget = 2;
    bool has_worked = false;  // a server has answered, and could do what was asked or refused it
    Id next_id = 1;
  };
  // An attempt that ended without the wanted answer.
  struct Failure {
    Verdict verdict;
    std::string text = {};                                     // for the log
    std::optional<std::chrono::seconds> pause = std::nullopt;  // that the server asks for
  };
  // The actions that follow a change of state, outside the lock.
  struct Ending {
    std::shared_ptr<Work> work;
    Result<HttpAnswer> result;
    std::vector<Transport::Ticket> cancelled;
  };

  void pump();
  // The next call that may be sent, with a new attempt.  Null if there is no such call.
  static std::shared_ptr<Work> take_next(State& state, Time now, Id& id);
  void send(Id id, const std::shared_ptr<Work>& work, std::uint64_t attempt);
  void note_ticket(Id id, std::uint64_t attempt, Transport::Ticket ticket);
  void on_answer(Id id, std::uint64_t attempt, Result<HttpAnswer> answer);
  void on_stall(Id id, std::uint64_t attempt);
  void retry_later(Id id);
  void queue_again(Id id, Turn turn);
  void set_timer(Id id, Time when, std::function<void()> body);
  void end(Ending ending);

  static Attempt& begin_attempt(State& state, Work& work, Time now);
  static void end_attempt(State& state, Work& work, std::uint64_t number);
  // The attempt no longer counts for the limit on concurrent requests.
  static void leave_slot(State& state, const Attempt& attempt);
  static Ending take_out(State& state, Id id, Result<HttpAnswer> result);
  // Decides how a call continues after an answer other than the wanted one.  Nothing if the call
  // continues.
  static std::optional<Ending> weigh(State& state, Id id, Work& work, const Failure& failure,
                                     Time now);
  // `ended` is the result of the call; null if the call goes on.
  void note_health(const Failure& failure, Time sent, Time now, const Result<HttpAnswer>* ended);

  Transport& transport_;
  NetStats& stats_;
  ServerHealth& health_;
  fs::Guarded<State> state_;
};

}  // namespace framefs::net
