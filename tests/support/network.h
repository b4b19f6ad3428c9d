#pragma once

#include <memory>
#include <utility>

#include "fs/net/http/network_thread.h"

namespace framefs::test {

// A network thread that runs.
inline std::unique_ptr<net::NetworkThread> running_network(net::NetworkOptions options = {}) {
  auto network = *net::NetworkThread::make(std::move(options));
  network->start();
  return network;
}

}  // namespace framefs::test
