#pragma once

#include <atomic>
#include <cerrno>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

#include "fs/core/files/file.h"
#include "fs/core/threads/guarded.h"
#include "fs/core/threads/interrupt.h"

namespace framefs::fs {

// Makes one call at a time for each key.  A caller that comes while the call of another one is
// under way waits, and gets the same result.
// Threads: any number.
template <class Value>
class SingleFlight {
 public:
  // A call that is under way.
  class Call {
   public:
    // Whether leave() was called for its key since it began.
    [[nodiscard]] bool is_outdated() const { return is_outdated_; }

   private:
    friend class SingleFlight;
    std::atomic<bool> is_outdated_ = false;
    Guarded<std::optional<Result<Value>>> landed_;
  };

  // Returns the result of `make(call)`, a Result<Value>.
  // Errors: those of `make()`; EINTR if the operation of this thread is interrupted.  An
  // interrupted call ends for its caller only: one of the others makes a new one.
  template <class Make>
  Result<Value> run(const std::string& key, Make&& make) {
    while (true) {
      bool is_mine = false;
      const auto call = calls_.with([&](Calls& calls) {
        auto& known = calls[key];
        is_mine = known == nullptr;
        if (is_mine) known = std::make_shared<Call>();
        return known;
      });
      if (is_mine) {
        Landing landing(*this, key, call);
        landing.result = make(std::as_const(*call));
        return landing.result;
      }
      auto result = call->landed_.wait_unless(
          interrupted, [](const auto& landed) { return landed.has_value(); },
          [](const auto& landed) { return landed; });
      if (!result) return system_error_of(EINTR, "wait for another call");
      const bool was_interrupted = !*result && result->error().sys == EINTR;
      if (!was_interrupted) return std::move(*result);
    }
  }

  // The result of the call that is under way is out of date: later callers do not join it.
  void leave(const std::string& key) {
    calls_.with([&](Calls& calls) {
      const auto known = calls.find(key);
      if (known == calls.end()) return;
      known->second->is_outdated_ = true;
      calls.erase(known);
    });
  }

 private:
  using Calls = std::unordered_map<std::string, std::shared_ptr<Call>>;

  // Ends a call, and hands its result to the callers that wait.  A call that throws counts as
  // interrupted.
  struct Landing {
    Landing(SingleFlight& of, const std::string& with, std::shared_ptr<Call> which)
        : owner(of), key(with), call(std::move(which)) {}
    Landing(const Landing&) = delete;
    Landing& operator=(const Landing&) = delete;
    ~Landing() {
      owner.calls_.with([&](Calls& calls) {
        if (!call->is_outdated_) calls.erase(key);
      });
      call->landed_.with_and_wake([&](auto& landed) { landed = std::move(result); });
    }

    SingleFlight& owner;
    const std::string& key;
    const std::shared_ptr<Call> call;
    Result<Value> result = system_error_of(EINTR, "interrupted call");
  };

  Guarded<Calls> calls_;
};

}  // namespace framefs::fs
