#pragma once

#include <functional>
#include <map>
#include <memory>
#include <thread>
#include <unordered_map>
#include <variant>
#include <vector>

#include "fs/core/threads/guarded.h"
#include "fs/net/http/body_pool.h"
#include "fs/net/http/spare_connections.h"
#include "fs/net/http/transport.h"
#include "fs/net/network_options.h"

namespace framefs::net {

class CurlTransfer;

// The thread that sends all requests of a mount.  Each concurrent request has its own connection,
// which stays open for the next request.
// Threads: any number.
class NetworkThread final : public Transport {
 public:
  // Initializes the libraries and reads the certificates.  Starts no thread.
  // Errors: system.
  static Result<std::unique_ptr<NetworkThread>> make(NetworkOptions options);
  ~NetworkThread() override;

  // Starts the thread.  The process must have become a daemon before.  Until then, requests wait.
  void start();
  // Drops the requests under way.  Afterwards the thread calls nothing back and sends nothing.
  void stop();

  Ticket submit(HttpRequest request, Done done) override;
  Ticket call_at(Clock::time_point when, std::function<void()> body) override;
  void cancel(Ticket ticket) override;

  // Where the memory of the answers' bodies comes from.
  [[nodiscard]] BodyPool& bodies() noexcept { return bodies_; }

 private:
  struct Multi;
  struct Submission {
    HttpRequest request;
    Done done;
  };
  struct Timer {
    Clock::time_point when;
    std::function<void()> body;
  };
  struct Cancellation {};
  struct Command {
    Ticket ticket;
    std::variant<Submission, Timer, Cancellation> what;
  };
  struct Inbox {
    std::vector<Command> commands;
    Ticket next_ticket = 1;
    bool is_stopped = false;
  };

  NetworkThread(NetworkOptions options, std::unique_ptr<Multi> multi);
  Ticket post(std::variant<Submission, Timer, Cancellation> what, Ticket ticket = 0);
  void run(const std::stop_token& stop);
  void take_commands();
  void begin(Ticket ticket, Submission submission);
  void open_connections_for(const CurlTransfer& transfer);
  void drop(Ticket ticket);
  void finish_transfers();
  void run_timers();
  [[nodiscard]] int poll_timeout_ms() const;

  // Used by the thread alone.  libcurl closes the sockets of its connections through it.
  SpareConnections connections_;
  // Constant after construction.
  const NetworkOptions options_;
  const std::unique_ptr<Multi> multi_;
  // Guarded.
  BodyPool bodies_;
  fs::Guarded<Inbox> inbox_;
  // Used by the thread alone.
  std::unordered_map<Ticket, std::unique_ptr<CurlTransfer>> running_;
  std::multimap<Clock::time_point, std::pair<Ticket, std::function<void()>>> timers_;
  std::unordered_map<Ticket, Clock::time_point> timer_of_;
  std::jthread thread_;
};

}  // namespace framefs::net
