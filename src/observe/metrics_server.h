#pragma once

#include <functional>
#include <optional>
#include <string>

#include "codec/core/result.h"

namespace framefs {

// A place to listen at.
struct ListenAddress {
  std::string host;  // empty: each address of this machine
  std::string port;  // a number; 0: a free one
};

// Parses HOST:PORT.  HOST is a name, an address of IPv4, or one of IPv6 in brackets.
std::optional<ListenAddress> parse_listen_address(const std::string& text);

// Answers GET /metrics at `address` with the metrics of a mount, until SIGINT or SIGTERM.  Each
// answer asks the daemon anew.  If the daemon gives none, the status is 503, and the text says why;
// one question waits for a daemon that hangs, however many clients come.
// Calls `on_ready` with the URL once it listens.
// Errors: system if it cannot listen there.
codec::Status serve_metrics(const std::string& mountpoint, const ListenAddress& address,
                            const std::function<void(const std::string& url)>& on_ready);

}  // namespace framefs
