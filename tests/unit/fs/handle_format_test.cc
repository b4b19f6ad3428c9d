#include "fs/source/handle_format.h"

#include <fcntl.h>

#include <cerrno>
#include <string_view>

#include "tests/support/catch.h"

namespace framefs::fs::handle_format_test {
namespace {

// The filesystems that are supported need a disk; see tests/e2e/test_export_remounts.py.
TEST_CASE("handle_format: a filesystem without handles that can be rebuilt is refused",
          "[fs][handle_format][unit]") {
  const UniqueFd root(::open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  REQUIRE(root);
  const auto format = HandleFormat::of(root.get());
  REQUIRE_FALSE(format);
  CHECK(format.error().sys == EOPNOTSUPP);
  CHECK(std::string_view(format.error().field).starts_with("SOURCE"));
}

}  // namespace
}  // namespace framefs::fs::handle_format_test
