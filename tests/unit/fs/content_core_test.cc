#include "fs/tree/content_core.h"

#include <sys/stat.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/catch.h"
#include "tests/support/temp_directory.h"
#include "tests/unit/fs/small_frames.h"
#include "tests/unit/fs/test_log.h"

namespace framefs::fs::content_core_test {
namespace {

// The cores of a mount, without its services.
struct Cores {
  explicit Cores(const MountOptions& given)
      : options(given),
        nodes(options, find_mount_root(options).value(), reads, nullptr, std::nullopt) {}

  std::shared_ptr<Node> look_up(const std::string& name) {
    struct stat st{};
    REQUIRE(::stat((options.source / name).c_str(), &st) == 0);
    auto& table = nodes.locator().nodes();
    return table.lookup(table.root(), name, {st.st_dev, st.st_ino, ShownAs::frame, {}});
  }

  const MountOptions options;
  test::TestLog log;
  ReadCore reads{options, log.log()};
  NodeCore nodes;
  ContentCore contents{options, nodes, reads};
};

MountOptions options_of(const test::TempDirectory& folder) {
  MountOptions options;
  options.source = folder.path();
  options.threads = 1;
  options.cache_bytes = 1u << 20;
  NewFileRule rule{.glob = "*.npy", .frame = {}};
  rule.frame.arrays = true;
  options.write.rules = {rule};
  return options;
}

// A frame becomes an array only where a mount shows the array under the frame's name.
TEST_CASE("content_core: closed frames become arrays where the mount shows these in their places",
          "[fs][content_core][unit]") {
  test::TempDirectory folder;
  folder.write("a.npy.b2frame", test::small_frame(100));
  const auto is_candidate = [&](const std::function<void(MountOptions&)>& change) {
    auto options = options_of(folder);
    change(options);
    Cores cores(options);
    return cores.contents.candidates().rule_for(*cores.look_up("a.npy.b2frame")).has_value();
  };
  CHECK(is_candidate([](MountOptions&) {}));
  CHECK_FALSE(is_candidate([](MountOptions& options) { options.read_only = true; }));
  CHECK_FALSE(is_candidate([](MountOptions& options) { options.keep_suffix = true; }));
  CHECK_FALSE(is_candidate([](MountOptions& options) { options.arrays = ArrayViews::raw; }));
  CHECK_FALSE(is_candidate([](MountOptions& options) { options.write.rules.clear(); }));
}

TEST_CASE("content_core: without requests, nothing is cached, read ahead, stored or pushed",
          "[fs][content_core][unit]") {
  test::TempDirectory folder;
  Cores cores(options_of(folder));
  const auto now = cores.contents.activity(true);
  CHECK(now.is_read_only);
  CHECK(now.cache_held_bytes == 0);
  CHECK(now.pushed_bytes == 0);
  CHECK(now.writes.dirty_bytes == 0);
  CHECK(now.writes.stored_bytes == 0);
  CHECK(now.writes.commits == 0);
  CHECK_FALSE(cores.contents.activity(false).is_read_only);
}

}  // namespace
}  // namespace framefs::fs::content_core_test
