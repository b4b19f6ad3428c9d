#include "fs/fuse/session/inherited_mount.h"

#include <fcntl.h>

#include <cerrno>
#include <string>

#include "fs/core/files/file.h"
#include "tests/support/catch.h"

namespace framefs::fuse::inherited_mount_test {
namespace {

TEST_CASE("inherited_mount: only /dev/fd/N is a descriptor", "[fs][inherited_mount][unit]") {
  CHECK(inherited_descriptor("/dev/fd/0") == 0);
  CHECK(inherited_descriptor("/dev/fd/17") == 17);
  for (const auto* const path :
       {"/dev/fd/", "/dev/fd", "/dev/fd/x", "/dev/fd/1x", "/dev/fd/-1", "/dev/fd/1/2", "dev/fd/1",
        "/dev/fd/99999999999999999999", "/mnt/dev/fd/1", ""}) {
    INFO(path);
    CHECK_FALSE(inherited_descriptor(path));
  }
}

TEST_CASE("inherited_mount: a descriptor without a mount is refused",
          "[fs][inherited_mount][unit]") {
  const fs::UniqueFd other(::open("/dev/null", O_RDWR | O_CLOEXEC));
  REQUIRE(other);
  fs::MountOptions options;
  options.mountpoint = "/dev/fd/" + std::to_string(other.get());
  const auto refused = adopt_mount(options);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().sys == ENODEV);
  CHECK(path_of_mount(options.mountpoint) == options.mountpoint);
  CHECK_FALSE(find_inherited_mount(other.get()));
  options.mountpoint = "/dev/fd/1";
  CHECK(adopt_mount(options).error().sys == EBADF);
  options.mountpoint = "/mnt";
  CHECK(adopt_mount(options).error().sys == EINVAL);
}

}  // namespace
}  // namespace framefs::fuse::inherited_mount_test
