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

#include "fs/core/threads/guarded.h"
#include "fs/net/http/call.h"
#include "fs/net/http/call_retries.h"
#include "fs/net/http/latency_model.h"
#include "fs/net/http/request_slots.h"
#include "fs/net/http/server_health.h"
#include "fs/net/http/transport.h"
#include "fs/net/http/verdict.h"
#include "fs/net/net_stats.h"

namespace framefs::net {

// The requests of a mount.  The queue sends demand before prefetch, and limits concurrent requests
// to the number that the server accepts.  It repeats a request after a transient failure, and sends
// a second request beside one that seems to have stalled.  CallRetries decides how often a call is
// tried, and RequestSlots how many requests are under way at once.
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
    RequestSlots::Slot slot;
  };
  struct Work {
    Call call;
    Done done;
    CallRetries retries;
    std::vector<Attempt> attempts = {};
    std::uint64_t attempts_made = 0;
    Transport::Ticket timer = 0;  // for a retry, or for a second attempt
  };
  // A call that failed comes after those that were not sent yet, which may succeed.
  enum class Turn : std::uint8_t { first, last };
  using Works = std::unordered_map<Id, std::shared_ptr<Work>>;
  struct State {
    Works works;
    std::deque<Id> demanded;    // calls that wait for a slot
    std::deque<Id> prefetched;  // prefetches that wait for a slot
    RequestSlots slots;
    LatencyModel latency;
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
  static Ending take_out(State& state, Id id, Result<HttpAnswer> result);
  // `ended` is the result of the call; null if the call goes on.
  void note_health(const Failure& failure, Time sent, Time now, const Result<HttpAnswer>* ended);

  Transport& transport_;
  NetStats& stats_;
  ServerHealth& health_;
  fs::Guarded<State> state_;
};

}  // namespace framefs::net
