#include "fs/fuse/session/session_parts.h"

#include "tests/support/catch.h"

namespace framefs::fuse::session_parts_test {
namespace {

TEST_CASE("session_parts: a request has the same limit whatever the size of a page is",
          "[fs][fuse][unit]") {
  constexpr unsigned kPages = 256;
  for (const unsigned page : {4u << 10, 16u << 10, 64u << 10}) {
    fuse_conn_info connection{};
    connection.max_write = kPages * page;  // as libfuse sets it
    limit_request_size(connection);
    CHECK(connection.max_write == 1u << 20);
  }
  fuse_conn_info small{};
  small.max_write = 128u << 10;
  limit_request_size(small);
  CHECK(small.max_write == 128u << 10);
}

}  // namespace
}  // namespace framefs::fuse::session_parts_test
