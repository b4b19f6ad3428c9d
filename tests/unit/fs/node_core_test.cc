#include "fs/tree/node_core.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "tests/support/catch.h"
#include "tests/support/temp_directory.h"
#include "tests/unit/fs/small_frames.h"
#include "tests/unit/fs/test_log.h"

namespace framefs::fs::node_core_test {
namespace {

// SOURCE, and what finds nodes in it.
struct Source {
  explicit Source(const test::TempDirectory& folder) {
    options.source = folder.path();
    options.threads = 1;
  }
  NodeCore& nodes() {
    if (!core) {
      auto found = find_mount_root(options);
      REQUIRE(found);
      core.emplace(options, std::move(*found), reads, nullptr, std::nullopt);
    }
    return *core;
  }
  std::unique_ptr<Folder> open_root() {
    auto folder = nodes().folders().open(*nodes().locator().nodes().root(), O_RDONLY);
    REQUIRE(folder);
    return std::move(*folder);
  }

  MountOptions options;
  test::TestLog log;
  ReadCore reads{MountOptions{}, log.log()};
  std::optional<NodeCore> core;
};

TEST_CASE("node_core: a shown name leads to a node, and the node to its file",
          "[fs][node_core][unit]") {
  test::TempDirectory folder;
  folder.write("frame.b2frame", test::small_frame(2500));
  Source source(folder);
  auto& nodes = source.nodes();
  const auto root = source.open_root();
  const auto listed = nodes.names().list(*root);
  REQUIRE(listed);
  REQUIRE(listed->size() == 1);
  CHECK(listed->front().shown.name == "frame");
  const auto found = nodes.names().find(*root, "frame");
  REQUIRE(found);
  CHECK(found->source_name == "frame.b2frame");
  auto& table = nodes.locator().nodes();
  const auto node =
      table.lookup(table.root(), found->source_name,
                   {found->entry.stat.st_dev, found->entry.stat.st_ino, found->shown_as, {}});
  const auto entry = nodes.node_probe().entry(*node);
  REQUIRE(entry);
  CHECK(entry->summary.content == Content::frame);
  const auto file = nodes.locator().open_file(*node);
  REQUIRE(file);
  CHECK(nodes.containers().origin_of(*node, *file));
}

TEST_CASE("node_core: entries are shown as they are stored if the options say so",
          "[fs][node_core][unit]") {
  test::TempDirectory folder;
  folder.write("frame.b2frame", test::small_frame(2500));
  Source source(folder);
  source.options.as_is_globs = {"*"};
  CHECK(source.nodes().as_is().covers("frame.b2frame"));
  const auto found = source.nodes().names().find(*source.open_root(), "frame.b2frame");
  REQUIRE(found);
  CHECK(found->shown_as == ShownAs::itself);
}

TEST_CASE("node_core: the root is what the mount shows of SOURCE", "[fs][node_core][unit]") {
  test::TempDirectory folder;
  folder.write("frame.b2frame", test::small_frame(2500));
  Source source(folder);
  source.options.source = folder.path() / "frame.b2frame";
  const auto root = source.nodes().locator().nodes().root();
  CHECK(root->key.shown_as == ShownAs::single_entry);
  struct stat st{};
  REQUIRE(::stat(source.options.source.c_str(), &st) == 0);
  CHECK(file_key(*root) == FileKey{st.st_dev, st.st_ino});
}

}  // namespace
}  // namespace framefs::fs::node_core_test
