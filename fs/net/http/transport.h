#pragma once

#include <chrono>
#include <cstdint>
#include <functional>

#include "fs/net/http/http_message.h"

namespace framefs::net {

// Sends requests and calls back.  The network thread is one implementation; tests have others.
// Threads: any number.
class Transport {
 public:
  // Runs on the transport's own thread and must not wait for anything, least of all for an answer.
  // Errors, in the result: system, with the nearest errno.  EPROTO means that another attempt is
  // useless, such as for a certificate that does not verify.
  using Done = std::function<void(Result<HttpAnswer>)>;
  using Ticket = std::uint64_t;
  using Clock = std::chrono::steady_clock;

  Transport() = default;
  Transport(const Transport&) = delete;
  Transport& operator=(const Transport&) = delete;
  virtual ~Transport() = default;

  // Sends a request.  The transport calls `done` exactly once, unless the request is cancelled
  // first.
  virtual Ticket submit(HttpRequest request, Done done) = 0;
  // Calls `body` at `when`, on the transport's thread.
  virtual Ticket call_at(Clock::time_point when, std::function<void()> body) = 0;
  // Drops the request.  It does not wait for a callback that has already begun.
  virtual void cancel(Ticket ticket) = 0;
  [[nodiscard]] virtual Clock::time_point now() const { return Clock::now(); }
};

// Sends one request and waits for its answer.
// Threads: any but the transport's own.
Result<HttpAnswer> perform(Transport& transport, HttpRequest request);

}  // namespace framefs::net
