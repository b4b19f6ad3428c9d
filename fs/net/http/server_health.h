#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "fs/core/diagnostics/log.h"
#include "fs/core/threads/guarded.h"

namespace framefs::net {

// Tells the log when the server of a mount is gone, when it is back, and why calls failed.
// Threads: any number.
class ServerHealth {
 public:
  using Time = std::chrono::steady_clock::time_point;

  // `name` is SOURCE for messages.  Lifetime: the log outlives it.
  ServerHealth(std::string name, fs::Log& log) : name_(std::move(name)), log_(log) {}

  // The server has answered, and could do what a request asked for, or refused it.
  void worked(Time now);
  // A request that was sent at `sent` got no answer, or the server could not do what it asked for.
  // Without any answer for kMinOutage, the log says that the server is gone, once.
  void failed(Time sent, Time now, const std::string& reason);
  // A caller gets EIO.
  void gave_up(const std::string& reason);

  struct State {
    std::optional<Time> last_worked = std::nullopt;
    // The first failure since the last answer.
    std::optional<Time> first_failure = std::nullopt;
    std::uint64_t failures = 0;   // since then
    std::string last_error = {};  // the last failure of all; "" if there was none
    bool is_reported = false;
  };
  [[nodiscard]] State state() const;

  static constexpr std::chrono::seconds kMinOutage{5};

 private:
  const std::string name_;
  fs::Log& log_;
  fs::Guarded<State> state_;
};

}  // namespace framefs::net
