#pragma once

#include "fs/net/http/server_health.h"
#include "tests/unit/fs/test_log.h"

namespace framefs::test {

// The health of a server, and the log that it writes to.
struct QuietHealth {
  TestLog log;
  net::ServerHealth health{"server", log.log()};
};

}  // namespace framefs::test
