#include "fs/core/files/mount_table.h"

#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "tests/support/catch.h"

namespace framefs::fs::mount_table_test {
namespace {

TEST_CASE("mount_table: a line has device, path, options and source", "[fs][mount_table][unit]") {
  const auto mount = parse_mount_line(
      "42 27 0:39 / /mnt/with\\040blank rw,nosuid master:1 propagate_from:2 - fuse.framefs "
      "s3://b\\134c ro,user_id=0,default_permissions");
  REQUIRE(mount);
  CHECK(mount->number == 42);
  CHECK(mount->device == makedev(0, 39));
  CHECK(mount->mountpoint == "/mnt/with blank");
  CHECK(mount->options == "rw,nosuid");
  CHECK(mount->type == "fuse.framefs");
  CHECK(mount->source == "s3://b\\c");
  CHECK(mount->filesystem_options == "ro,user_id=0,default_permissions");
}

TEST_CASE("mount_table: a line of another form is skipped", "[fs][mount_table][unit]") {
  for (const auto* const line :
       {"", "42", "42 27 0:39 / /mnt rw", "42 27 0:39 / /mnt rw - ", "42 27 0:39 / /mnt rw - fuse",
        "42 27 device / /mnt rw - fuse source rw", "x 27 0:39 / /mnt rw - fuse source rw",
        "42 27 0:39 / /mnt rw fuse source rw"}) {
    INFO(line);
    CHECK_FALSE(parse_mount_line(line));
  }
  CHECK(parse_mount_line("42 27 0:39 / /mnt rw - fuse source")->filesystem_options.empty());
}

// The kernel escapes the space, the tab and the newline of a path alone.
TEST_CASE("mount_table: other white space is part of a path", "[fs][mount_table][unit]") {
  const auto mount = parse_mount_line("42 27 0:39 / /a\rb\vc\fd rw - fuse.framefs /s\r rw");
  REQUIRE(mount);
  CHECK(mount->mountpoint == "/a\rb\vc\fd");
  CHECK(mount->source == "/s\r");
}

TEST_CASE("mount_table: an option is a whole word of the list", "[fs][mount_table][unit]") {
  CHECK(has_mount_option("ro", "ro"));
  CHECK(has_mount_option("user_id=0,ro", "ro"));
  CHECK(has_mount_option("ro,user_id=0", "ro"));
  CHECK_FALSE(has_mount_option("rox,no_ro,ro=1", "ro"));
  CHECK_FALSE(has_mount_option("", "ro"));
}

// The root may be missing: a chroot need not be a mountpoint.
TEST_CASE("mount_table: the table has the mount at /proc", "[fs][mount_table][unit]") {
  struct stat st{};
  REQUIRE(::stat("/proc", &st) == 0);
  bool has_proc = false;
  for (const auto& mount : mount_table()) {
    if (mount.mountpoint != "/proc") continue;
    has_proc = true;
    CHECK(mount.device == st.st_dev);
    CHECK(mount.type == "proc");
  }
  CHECK(has_proc);
}

}  // namespace
}  // namespace framefs::fs::mount_table_test
