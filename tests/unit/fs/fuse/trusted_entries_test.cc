#include "fs/fuse/trusted_entries.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>
#include <utility>
#include <vector>

#include "fs/core/guarded.h"
#include "tests/support/catch.h"
#include "tests/support/temp_directory.h"
#include "tests/support/threads.h"

namespace framefs::fuse::trusted_entries_test {
namespace {

namespace stdfs = std::filesystem;
using Watch = TrustedEntries::Watch;

constexpr fs::NodeId kDirectory = 7;
constexpr TrustedEntries::Times kLasting{};
constexpr TrustedEntries::Times kQuick{.trust = TrustedEntries::kTrust,
                                       .rest = std::chrono::milliseconds(50),
                                       .repeat = std::chrono::milliseconds(30)};
constexpr TrustedEntries::Times kBrief{.trust = std::chrono::milliseconds(1000),
                                       .rest = std::chrono::milliseconds(50),
                                       .repeat = std::chrono::milliseconds(30)};

// A directory, and the entries in which the kernel was told to end its trust.
struct Watched {
  using Entry = std::pair<std::string, fs::NodeId>;

  explicit Watched(const TrustedEntries::Times& times)
      : fd(::open(folder.path().c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC)) {
    trusted.start(
        [this](fs::NodeId directory, const std::string& name, fs::NodeId node) {
          CHECK(directory == kDirectory);
          ended.with_and_wake([&](auto& entries) { entries.emplace_back(name, node); });
        },
        times);
  }
  Watch begin() { return trusted.begin(kDirectory, fd.get()); }
  bool grant(Watch watch, const std::string& name, fs::NodeId node) {
    return trusted.grant(kDirectory, watch, name, node);
  }
  void change(const std::string& name) { std::ofstream(folder.path() / name) << "x"; }
  std::vector<Entry> await(std::size_t count) {
    return ended.wait([&](const auto& entries) { return entries.size() >= count; },
                      [](const auto& entries) { return entries; });
  }

  test::TempDirectory folder;
  fs::UniqueFd fd;
  fs::Guarded<std::vector<Entry>> ended;
  TrustedEntries trusted;
};

// Begins a watch after the rest that a change has caused.
Watch begin_again(Watched& watched) {
  while (true) {
    const auto known = watched.trusted.watch_of(kDirectory);
    if (!known) return watched.begin();
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
}

}  // namespace

TEST_CASE("trusted_entries: a change ends the trust in all entries of its directory, twice",
          "[fs][fuse][trusted_entries][unit]") {
  Watched watched(kQuick);
  CHECK_FALSE(watched.trusted.watch_of(kDirectory));
  const auto watch = watched.begin();
  REQUIRE(watch != TrustedEntries::kNoWatch);
  CHECK(watched.begin() == watch);
  CHECK(*watched.trusted.watch_of(kDirectory) == watch);
  const std::string longest(255, 'n');
  CHECK(watched.grant(watch, "one", 11));
  CHECK(watched.grant(watch, longest, 12));
  CHECK(watched.trusted.trusted_count(kDirectory, watch) == 2);
  CHECK(watched.trusted.trusted_count(kDirectory, TrustedEntries::kNoWatch) == 0);
  watched.change("other");
  const std::vector<Watched::Entry> once{{"one", 11}, {longest, 12}};
  auto twice = once;
  twice.insert(twice.end(), once.begin(), once.end());
  CHECK(watched.await(4) == twice);
  CHECK(watched.trusted.trusted_count(kDirectory, watch) == 0);
}

TEST_CASE("trusted_entries: each kind of change is one", "[fs][fuse][trusted_entries][unit]") {
  Watched watched(kQuick);
  const auto path = watched.folder.path() / "x";
  watched.change("x");
  const std::vector<std::function<void()>> changes{
      [&] { watched.change("x"); },
      [&] { stdfs::permissions(path, stdfs::perms::owner_read); },
      [&] { stdfs::last_write_time(path, stdfs::file_time_type::clock::now()); },
      [&] { stdfs::create_hard_link(path, watched.folder.path() / "y"); },
      [&] { stdfs::rename(path, watched.folder.path() / "z"); },
      [&] { stdfs::remove(watched.folder.path() / "y"); },
      [&] { stdfs::permissions(watched.folder.path(), stdfs::perms::owner_all); },
  };
  for (std::size_t i = 0; i < changes.size(); ++i) {
    const auto watch = begin_again(watched);
    REQUIRE(watched.grant(watch, "x", i));
    changes[i]();
    CHECK(watched.await(2 * i + 1).back().second == i);
    watched.await(2 * i + 2);
    CHECK_FALSE(watched.grant(watch, "x", i));
  }
}

TEST_CASE("trusted_entries: what was looked up before a change is not trusted",
          "[fs][fuse][trusted_entries][unit]") {
  Watched watched(kLasting);
  const auto watch = watched.begin();
  REQUIRE(watched.grant(watch, "x", 11));
  watched.change("x");
  watched.await(1);
  CHECK_FALSE(watched.grant(watch, "x", 11));
  // The directory rests.
  CHECK(watched.trusted.watch_of(kDirectory) == TrustedEntries::kNoWatch);
  CHECK_FALSE(watched.grant(TrustedEntries::kNoWatch, "x", 11));
}

TEST_CASE("trusted_entries: an entry is remembered for as long as it is trusted",
          "[fs][fuse][trusted_entries][unit]") {
  Watched watched(kBrief);
  const auto watch = watched.begin();
  REQUIRE(watched.grant(watch, "x", 11));
  std::this_thread::sleep_for(kBrief.trust / 2);
  watched.change("x");
  CHECK(watched.await(2).size() == 2);
  // Without entries, directories are forgotten.
  begin_again(watched);
  while (watched.trusted.watch_of(kDirectory)) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

TEST_CASE("trusted_entries: while nothing changes, entries are forgotten with the trust in them",
          "[fs][fuse][trusted_entries][unit]") {
  const bool has_unwatched = GENERATE(false, true);
  test::finish_in_time("the lists are turned", [&] {
    Watched watched(kBrief);
    std::this_thread::sleep_for(std::chrono::milliseconds(50));  // the thread then waits
    if (has_unwatched) REQUIRE(watched.trusted.begin(8, -1) == TrustedEntries::kNoWatch);
    const auto watch = watched.begin();
    REQUIRE(watched.grant(watch, "x", 11));
    while (watched.trusted.trusted_count(kDirectory, watch) > 0) {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    // Without entries, the directory is forgotten as well.
    while (watched.trusted.watch_of(kDirectory)) {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
  });
}

TEST_CASE("trusted_entries: the memory for names is bounded", "[fs][fuse][trusted_entries][unit]") {
  Watched watched(kLasting);
  const auto watch = watched.begin();
  const std::string name(255, 'n');
  std::size_t granted = 0;
  while (watched.grant(watch, name, granted)) ++granted;
  CHECK(granted * name.size() > (std::size_t{15} << 20));
  CHECK(granted * name.size() < (std::size_t{17} << 20));
}

TEST_CASE("trusted_entries: only directories of local filesystems are watched",
          "[fs][fuse][trusted_entries][unit]") {
  Watched watched(kLasting);
  CHECK(watched.trusted.begin(8, -1) == TrustedEntries::kNoWatch);
  const fs::UniqueFd proc(::open("/proc/self", O_PATH | O_DIRECTORY | O_CLOEXEC));
  CHECK(watched.trusted.begin(9, proc.get()) == TrustedEntries::kNoWatch);
  // Under a second number, the directory has no watch.
  REQUIRE(watched.begin() != TrustedEntries::kNoWatch);
  CHECK(watched.trusted.begin(10, watched.fd.get()) == TrustedEntries::kNoWatch);
}

TEST_CASE("trusted_entries: nothing is trusted before the start and after the end",
          "[fs][fuse][trusted_entries][unit]") {
  TrustedEntries idle;
  CHECK(idle.watch_of(kDirectory) == TrustedEntries::kNoWatch);
  Watched watched(kLasting);
  const auto watch = watched.begin();
  REQUIRE(watched.grant(watch, "x", 11));
  watched.trusted.stop();
  CHECK(watched.trusted.watch_of(kDirectory) == TrustedEntries::kNoWatch);
  CHECK(watched.begin() == TrustedEntries::kNoWatch);
}

}  // namespace framefs::fuse::trusted_entries_test
