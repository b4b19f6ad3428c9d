#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "fs/net/http/transport.h"

namespace framefs::test {

// A transport without a network and with a clock of the test's: requests wait until the test
// answers them.  Threads: one.
class FakeTransport final : public net::Transport {
 public:
  Ticket submit(net::HttpRequest request, Done done) override {
    sent_.push_back(request.url.path);
    pending_.emplace(next_, Pending{std::move(request), std::move(done)});
    return next_++;
  }
  Ticket call_at(Clock::time_point when, std::function<void()> body) override {
    timers_.emplace(next_, Timer{when, std::move(body)});
    return next_++;
  }
  void cancel(Ticket ticket) override {
    cancelled_ += pending_.erase(ticket);
    timers_.erase(ticket);
  }
  [[nodiscard]] Clock::time_point now() const override { return now_; }

  // The paths of all requests so far, and of those that wait for an answer.
  [[nodiscard]] const std::vector<std::string>& sent() const { return sent_; }
  [[nodiscard]] std::vector<std::string> waiting() const {
    std::vector<std::string> paths;
    for (const auto& [ticket, pending] : pending_) paths.push_back(pending.request.url.path);
    return paths;
  }
  [[nodiscard]] std::size_t cancelled() const { return cancelled_; }
  [[nodiscard]] std::size_t timers() const { return timers_.size(); }
  // The oldest request that waits.
  [[nodiscard]] const net::HttpRequest& front() const { return pending_.begin()->second.request; }

  // Answers the oldest waiting request for that path, or the oldest of all.
  void answer(net::Result<net::HttpAnswer> answer, std::string_view path = "") {
    for (auto place = pending_.begin(); place != pending_.end(); ++place) {
      if (!path.empty() && place->second.request.url.path != path) continue;
      const auto taken = pending_.extract(place);
      taken.mapped().done(std::move(answer));
      return;
    }
  }

  // Moves the clock forward, and runs the callbacks that become due.
  void advance(std::chrono::nanoseconds time) {
    const auto end = now_ + time;
    while (true) {
      auto next = timers_.end();
      for (auto place = timers_.begin(); place != timers_.end(); ++place) {
        if (place->second.when > end) continue;
        if (next == timers_.end() || place->second.when < next->second.when) next = place;
      }
      if (next == timers_.end()) break;
      now_ = std::max(now_, next->second.when);
      const auto due = timers_.extract(next);
      due.mapped().body();
    }
    now_ = end;
  }

 private:
  struct Pending {
    net::HttpRequest request;
    Done done;
  };
  struct Timer {
    Clock::time_point when;
    std::function<void()> body;
  };

  Ticket next_ = 1;
  Clock::time_point now_{std::chrono::hours(1000)};
  std::map<Ticket, Pending> pending_;
  std::map<Ticket, Timer> timers_;
  std::vector<std::string> sent_;
  std::size_t cancelled_ = 0;
};

inline net::HttpAnswer fake_answer(int status, std::string_view body = "") {
  net::HttpAnswer answer;
  answer.status = status;
  const auto bytes = std::as_bytes(std::span(body));
  answer.body.assign(bytes.begin(), bytes.end());
  answer.first_byte = std::chrono::milliseconds(1);
  answer.total = std::chrono::milliseconds(2);
  return answer;
}

}  // namespace framefs::test
