#include "fs/net/http/request_queue.h"

#include <algorithm>
#include <cerrno>
#include <optional>
#include <string>
#include <utility>

#include <fmt/core.h>

#include "fs/core/diagnostics/error_map.h"
#include "fs/core/files/file.h"
#include "fs/core/threads/interrupt.h"
#include "fs/net/http/retry_rules.h"

namespace framefs::net {
namespace {

using std::chrono::milliseconds;

// The reason of a failure in the words of the server, for people.
std::string failure_text(const Call& call, std::uint64_t attempt, const Result<HttpAnswer>& answer,
                         const Verdict& verdict) {
  auto text = call.name + ": ";
  if (answer) {
    text +=
        fmt::format("{}{}{}: ", answer->status, verdict.detail.empty() ? "" : " ", verdict.detail);
  }
  text += fs::describe(verdict.error);
  for (const auto* const name : {"x-amz-request-id", "x-request-id"}) {
    const auto id = answer ? answer->headers.find(name) : std::nullopt;
    if (id) text += fmt::format(", request id {}", *id);
  }
  return text + fmt::format(", attempt {}", attempt);
}

}  // namespace

RequestQueue::RequestQueue(Transport& transport, NetStats& stats, ServerHealth& health)
    : transport_(transport), stats_(stats), health_(health) {}

RequestQueue::~RequestQueue() = default;

auto RequestQueue::start(Call call, Done done) -> Id {
  const auto deadline = transport_.now() + call.time;
  auto work = std::make_shared<Work>(Work{std::move(call), std::move(done), CallRetries(deadline)});
  const auto id = state_.with([&](State& state) {
    const auto number = state.next_id++;
    auto& queue = work->call.priority == Priority::demand ? state.demanded : state.prefetched;
    queue.push_back(number);
    state.works.emplace(number, std::move(work));
    return number;
  });
  pump();
  return id;
}

auto RequestQueue::begin_attempt(State& state, Work& work, Time now) -> Attempt& {
  return work.attempts.emplace_back(
      Attempt{++work.attempts_made, now, 0, state.slots.take(work.call.priority)});
}

void RequestQueue::end_attempt(State& state, Work& work, std::uint64_t number) {
  const auto found = std::ranges::find(work.attempts, number, &Attempt::number);
  if (found == work.attempts.end()) return;
  state.slots.give_back(found->slot);
  work.attempts.erase(found);
}

auto RequestQueue::take_next(State& state, Time now, Id& id) -> std::shared_ptr<Work> {
  const auto take = [&](std::deque<Id>& queue) -> std::shared_ptr<Work> {
    while (!queue.empty()) {
      id = queue.front();
      queue.pop_front();
      const auto found = state.works.find(id);
      // The call was cancelled, or was raised and sent from the other queue.
      if (found == state.works.end() || !found->second->attempts.empty()) continue;
      begin_attempt(state, *found->second, now);
      return found->second;
    }
    return nullptr;
  };
  if (!state.slots.has_free(Priority::demand)) return nullptr;
  if (auto work = take(state.demanded)) return work;
  return state.slots.has_free(Priority::prefetch) ? take(state.prefetched) : nullptr;
}

void RequestQueue::pump() {
  while (true) {
    Id id = 0;
    const auto now = transport_.now();
    std::uint64_t attempt = 0;
    const auto work = state_.with([&](State& state) {
      auto next = take_next(state, now, id);
      if (next) attempt = next->attempts_made;
      return next;
    });
    if (!work) return;
    send(id, work, attempt);
  }
}

void RequestQueue::send(Id id, const std::shared_ptr<Work>& work, std::uint64_t attempt) {
  const auto now = transport_.now();
  const auto left = std::chrono::ceil<milliseconds>(work->retries.deadline() - now);
  auto request = left.count() > 0
                     ? work->call.make()
                     : std::unexpected(fs::system_error_of(ETIMEDOUT, "remote request").error());
  if (!request) {
    on_answer(id, attempt, std::unexpected(request.error()));
    return;
  }
  request->timeout = std::min(request->timeout, left);
  const auto stall = state_.with(
      [&](State& state) { return state.latency.stall_time(work->call.expected_bytes); });
  // The timer is set before the request is sent, because the answer may set the timer for a retry.
  set_timer(id, now + stall, [this, id, attempt] { on_stall(id, attempt); });
  const auto ticket =
      transport_.submit(std::move(*request), [this, id, attempt](Result<HttpAnswer> answer) {
        on_answer(id, attempt, std::move(answer));
        pump();
      });
  note_ticket(id, attempt, ticket);
}

void RequestQueue::note_ticket(Id id, std::uint64_t attempt, Transport::Ticket ticket) {
  const bool wanted = state_.with([&](State& state) {
    const auto found = state.works.find(id);
    if (found == state.works.end()) return false;
    auto& attempts = found->second->attempts;
    const auto place = std::ranges::find(attempts, attempt, &Attempt::number);
    if (place != attempts.end()) place->ticket = ticket;
    return true;
  });
  // The call ended while the request was being handed over.
  if (!wanted) transport_.cancel(ticket);
}

// Replaces the timer of a call, if the call has not ended.  A timer that fired is none any more.
void RequestQueue::set_timer(Id id, Time when, std::function<void()> body) {
  const auto timer = transport_.call_at(when, [this, id, body = std::move(body)] {
    state_.with([&](State& state) {
      const auto found = state.works.find(id);
      if (found != state.works.end()) found->second->timer = 0;
    });
    body();
  });
  const auto obsolete = state_.with([&](State& state) {
    const auto found = state.works.find(id);
    if (found == state.works.end()) return timer;
    return std::exchange(found->second->timer, timer);
  });
  if (obsolete != 0) transport_.cancel(obsolete);
}

auto RequestQueue::take_out(State& state, Id id, Result<HttpAnswer> result) -> Ending {
  auto taken = state.works.extract(id);
  Ending ending{std::move(taken.mapped()), std::move(result), {}};
  auto& work = *ending.work;
  while (!work.attempts.empty()) {
    if (work.attempts.back().ticket != 0) ending.cancelled.push_back(work.attempts.back().ticket);
    end_attempt(state, work, work.attempts.back().number);
  }
  if (work.timer != 0) ending.cancelled.push_back(work.timer);
  return ending;
}

void RequestQueue::end(Ending ending) {
  for (const auto ticket : ending.cancelled) transport_.cancel(ticket);
  ending.work->done(std::move(ending.result));
}

void RequestQueue::on_answer(Id id, std::uint64_t attempt, Result<HttpAnswer> answer) {
  const auto work = state_.with([&](State& state) {
    const auto found = state.works.find(id);
    return found == state.works.end() ? nullptr : found->second;
  });
  if (!work) return;
  const auto now = transport_.now();
  if (answer) {
    stats_.answered(work->call.kind, answer->status, answer->body.size(), answer->total);
  } else {
    stats_.answered(work->call.kind, 0, 0, {});
  }
  const auto verdict = answer ? work->call.judge(*answer) : verdict_of(answer.error());
  Failure failure{.verdict = verdict};
  if (verdict.kind != Verdict::Kind::done) {
    failure.text = failure_text(work->call, attempt, answer, verdict);
    failure.pause = answer ? retry_after(*answer) : std::nullopt;
  }

  bool goes_on = false;
  std::optional<Time> sent;
  auto ending = state_.with([&](State& state) -> std::optional<Ending> {
    if (!state.works.contains(id)) return std::nullopt;
    const auto place = std::ranges::find(work->attempts, attempt, &Attempt::number);
    if (place == work->attempts.end()) return std::nullopt;
    sent = place->sent;
    state.has_worked = state.has_worked || !is_transient(verdict);
    end_attempt(state, *work, attempt);
    if (verdict.kind == Verdict::Kind::done) {
      state.slots.succeeded();
      state.latency.note(answer->body.size(), answer->first_byte, answer->total, now);
      return take_out(state, id, std::move(answer));
    }
    if (verdict.kind == Verdict::Kind::slow_down) state.slots.slowed_down(*sent, now);
    const auto error = work->retries.note(verdict, failure.pause, state.has_worked, now);
    if (error) return take_out(state, id, std::unexpected(*error));
    // If two attempts race, the other one may still succeed.
    goes_on = work->attempts.empty();
    return std::nullopt;
  });
  if (sent) note_health(failure, *sent, now, ending ? &ending->result : nullptr);
  if (ending) return end(std::move(*ending));
  if (!goes_on) return;
  if (verdict.kind == Verdict::Kind::again) {
    queue_again(id, Turn::first);
  } else {
    retry_later(id);
  }
}

void RequestQueue::note_health(const Failure& failure, Time sent, Time now,
                               const Result<HttpAnswer>* ended) {
  if (!is_transient(failure.verdict)) {
    health_.worked(now);
  } else if (!is_not_made_yet(failure.verdict)) {
    health_.failed(sent, now, failure.text);
  }
  // Other errors are answers that programs expect, such as ENOENT.
  const bool is_eio = ended != nullptr && !*ended && fs::errno_of(ended->error()) == EIO;
  if (is_eio) health_.gave_up(failure.text);
}

void RequestQueue::queue_again(Id id, Turn turn) {
  state_.with([&](State& state) {
    const auto found = state.works.find(id);
    if (found == state.works.end()) return;
    const auto priority = found->second->call.priority;
    auto& queue = priority == Priority::demand ? state.demanded : state.prefetched;
    queue.insert(turn == Turn::first ? queue.begin() : queue.end(), id);
  });
}

void RequestQueue::retry_later(Id id) {
  stats_.add_retry();
  const auto now = transport_.now();
  const auto when = state_.with([&](State& state) {
    const auto found = state.works.find(id);
    if (found == state.works.end()) return now;
    const auto& work = *found->second;
    return work.retries.next(work.attempts_made, now);
  });
  set_timer(id, when, [this, id] {
    queue_again(id, Turn::last);
    pump();
  });
}

void RequestQueue::on_stall(Id id, std::uint64_t attempt) {
  std::uint64_t second = 0;
  const auto now = transport_.now();
  const auto work = state_.with([&](State& state) -> std::shared_ptr<Work> {
    const auto found = state.works.find(id);
    if (found == state.works.end()) return nullptr;
    auto& stalled = *found->second;
    const auto place = std::ranges::find(stalled.attempts, attempt, &Attempt::number);
    if (place == stalled.attempts.end()) return nullptr;
    state.slots.note_stall(place->slot);
    if (stalled.attempts.size() > 1 || !state.slots.may_hedge()) return nullptr;
    second = begin_attempt(state, stalled, now).number;
    return found->second;
  });
  if (work) {
    stats_.add_hedge();
    send(id, work, second);
  }
  pump();
}

bool RequestQueue::cancel(Id id) {
  auto ending = state_.with([&](State& state) -> std::optional<Ending> {
    if (!state.works.contains(id)) return std::nullopt;
    return take_out(state, id, std::unexpected(Error{}));
  });
  if (!ending) return false;
  for (const auto ticket : ending->cancelled) transport_.cancel(ticket);
  pump();
  return true;
}

void RequestQueue::raise(Id id) {
  state_.with([&](State& state) {
    const auto found = state.works.find(id);
    if (found == state.works.end() || found->second->call.priority == Priority::demand) return;
    found->second->call.priority = Priority::demand;
    // A call without attempts waits in a queue or for a retry.  Its place in the old queue is
    // skipped.
    if (found->second->attempts.empty() && found->second->timer == 0) state.demanded.push_back(id);
  });
  pump();
}

Result<HttpAnswer> RequestQueue::run(Call call) {
  using Landed = fs::Guarded<std::optional<Result<HttpAnswer>>>;
  const auto landed = std::make_shared<Landed>();
  const auto id = start(std::move(call), [landed](Result<HttpAnswer> result) {
    landed->with_and_wake([&](auto& value) { value = std::move(result); });
  });
  auto result = landed->wait_unless([&] { return fs::interrupted() && cancel(id); },
                                    [](const auto& value) { return value.has_value(); },
                                    [](auto& value) { return std::exchange(value, std::nullopt); });
  if (!result) return fs::system_error_of(EINTR, "remote request");
  return std::move(*result);
}

std::uint64_t RequestQueue::cheap_gap_bytes() const {
  return state_.with([](const State& state) { return state.latency.cheap_gap_bytes(); });
}

std::uint64_t RequestQueue::pipe_bytes() const {
  return state_.with([](const State& state) { return state.latency.pipe_bytes(); });
}

std::uint64_t RequestQueue::first_pipe_bytes() const {
  return state_.with([](const State& state) { return state.latency.first_pipe_bytes(); });
}

std::size_t RequestQueue::limit() const {
  return state_.with([](const State& state) { return state.slots.limit(); });
}

void RequestQueue::add_to(NetStats::Counts& counts) const {
  const auto now = transport_.now();
  state_.with([&](const State& state) {
    counts.limit = state.slots.limit();
    for (const auto& [id, work] : state.works) {
      if (work->attempts.empty()) ++counts.waiting;
      for (const auto& attempt : work->attempts) {
        ++counts.in_flight;
        counts.oldest = std::max(counts.oldest, now - attempt.sent);
      }
    }
  });
  const auto health = health_.state();
  counts.last_error = health.last_error;
  if (health.last_worked) counts.since_answer = now - *health.last_worked;
}

}  // namespace framefs::net
