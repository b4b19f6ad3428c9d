#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>

#include "fs/net/http/http_message.h"
#include "fs/net/http/verdict.h"
#include "fs/net/net_stats.h"
#include "fs/net/result.h"

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

}  // namespace framefs::net
