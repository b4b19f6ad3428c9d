#include "fs/tree/content/snapshots.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "fs/core/retries.h"
#include "tests/support/catch.h"
#include "tests/support/temp_directory.h"
#include "tests/unit/fs/small_frames.h"
#include "tests/unit/fs/test_log.h"

namespace framefs::fs::snapshots_test {
namespace {

// SOURCE, and what takes snapshots of it.
struct Source {
  explicit Source(test::TempDirectory& in) : folder(in) {
    auto opened = SourceRoot::open_directory(folder.path());
    REQUIRE(opened);
    struct stat st{};
    REQUIRE(::stat(folder.path().c_str(), &st) == 0);
    locator.emplace(std::move(*opened), NodeKey{st.st_dev, st.st_ino, ShownAs::itself}, "source",
                    log.log());
    containers.emplace(*locator, cache, ids, log.log(), codec::Limits{}, 0);
    node_probe.emplace(Expected::nothing, as_is, *locator, probe);
    snapshots.emplace(locator->nodes(), *node_probe, *containers, sessions);
  }

  [[nodiscard]] std::filesystem::path path(const std::string& name) const {
    return folder.path() / name;
  }
  [[nodiscard]] SourceEntry entry(const std::string& name) {
    const UniqueFd directory(::open(folder.path().c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    auto found = probe.probe(directory.get(), name);
    REQUIRE(found);
    return *found;
  }
  [[nodiscard]] std::shared_ptr<Node> look_up(const std::string& name, ShownAs shown_as) {
    const auto found = entry(name);
    return locator->nodes().lookup(locator->nodes().root(), name,
                                   {found.stat.st_dev, found.stat.st_ino, shown_as});
  }

  test::TempDirectory& folder;
  test::TestLog log;
  ContentIds ids;
  DecodeCache cache{1u << 20};
  SourceProbe probe{codec::Limits{}};
  const AsIsNames as_is{std::vector<std::string>()};
  KeptCtimes ctimes;
  WriteSessionTable sessions{log.log(), ctimes, [](const auto&...) {}};
  std::optional<NodeLocator> locator;
  std::optional<OpenContainers> containers;
  std::optional<NodeProbe> node_probe;
  std::optional<Snapshots> snapshots;
};

TEST_CASE("snapshots: a file that takes the place of another during the probe is the one shown",
          "[fs][snapshots][unit]") {
  test::TempDirectory folder;
  folder.write("old", std::string(10, 'x'));
  folder.write("new", std::string(20, 'x'));
  Source source(folder);
  const auto guess = file_key(source.entry("old"));
  int probes = 0;
  const auto taken = source.snapshots->take(guess, [&]() -> Result<SourceEntry> {
    ++probes;
    return source.entry("new");
  });
  REQUIRE(taken);
  CHECK(file_key(taken->entry) == file_key(source.entry("new")));
  CHECK(probes == 2);  // the second one with the right session
}

TEST_CASE("snapshots: files that replace each other without end are given up",
          "[fs][snapshots][unit]") {
  test::TempDirectory folder;
  folder.write("one", std::string(10, 'x'));
  folder.write("two", std::string(20, 'x'));
  Source source(folder);
  int probes = 0;
  const auto taken = source.snapshots->take(
      file_key(source.entry("two")),
      [&]() -> Result<SourceEntry> { return source.entry(++probes % 2 == 1 ? "one" : "two"); });
  REQUIRE_FALSE(taken);
  CHECK(taken.error().sys == ESTALE);
  CHECK(probes == Retries::kMost);
}

TEST_CASE("snapshots: a node is the file that its key names, wherever that is now",
          "[fs][snapshots][unit]") {
  test::TempDirectory folder;
  folder.write("x.b2frame", test::small_frame(100));
  Source source(folder);
  const auto node = source.look_up("x.b2frame", ShownAs::frame);
  const auto before = source.snapshots->of(*node);
  REQUIRE(before);
  CHECK(before->entry.summary.content == Content::frame);
  CHECK_FALSE(before->written);

  // Another program puts another file in its place.
  folder.write("other", test::small_frame(100));
  const UniqueFd held(::open(source.path("x.b2frame").c_str(), O_PATH | O_CLOEXEC));
  std::filesystem::rename(source.path("other"), source.path("x.b2frame"));
  const auto replaced = source.snapshots->of(*node);
  REQUIRE_FALSE(replaced);
  CHECK(replaced.error().sys == ESTALE);

  // A handle has the file open.
  auto reopened = reopen(held.get(), O_RDONLY);
  REQUIRE(reopened);
  auto open = std::make_shared<const FileReader>(std::move(*reopened));
  node->state.with([&](Node::State& state) { CHECK(state.handles.share(open) == open); });
  const auto kept = source.snapshots->of(*node);
  REQUIRE(kept);
  CHECK(file_key(kept->entry) == file_key(before->entry));
  CHECK(kept->entry.summary.content == Content::frame);
}

}  // namespace
}  // namespace framefs::fs::snapshots_test
