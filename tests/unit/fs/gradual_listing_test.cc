#include "fs/tree/names/gradual_listing.h"

#include <dirent.h>
#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/support/catch.h"
#include "tests/support/threads.h"

namespace framefs::fs::gradual_listing_test {
namespace {

// A folder of frames, and of some other files.  `before` is called before each probe.
class FakeFolder final : public Folder {
 public:
  using Before = std::function<Status(const std::string& name)>;
  explicit FakeFolder(std::size_t frames, const std::vector<std::string>& others = {}) {
    for (std::size_t i = 0; i < frames; ++i) names_.push_back(name_of(i));
    names_.insert(names_.end(), others.begin(), others.end());
  }
  static std::string name_of(std::size_t frame) {
    return std::to_string(1000 + frame) + ".b2frame";
  }

  [[nodiscard]] Result<std::vector<Item>> items() const override {
    std::vector<Item> items;
    for (const auto& name : names_) items.push_back({name, items.size() + 1, DT_REG});
    return items;
  }
  [[nodiscard]] Result<SourceEntry> probe(const std::string& name) const override {
    ++probes;
    if (before) FRAMEFS_CHECK(before(name));
    SourceEntry entry;
    entry.stat.st_mode = S_IFREG;
    const bool is_frame = name.ends_with(".b2frame");
    const bool is_array = name.ends_with(".b2nd");
    if (is_frame) entry.summary.content = Content::frame;
    if (is_array) entry.summary = {.content = Content::array, .is_numpy = true};
    return entry;
  }

  Before before;
  mutable std::atomic<std::size_t> probes{0};

 private:
  std::vector<std::string> names_;
};

struct Namer {
  WorkerPool pool{2};
  TaskThreads threads{2};
  NameChoice choice{false, ArrayViews::both};

  std::unique_ptr<GradualListing> list(const Folder& folder, std::size_t helpers) {
    auto names = FolderNames::of(folder, choice, pool);
    REQUIRE(names);
    return std::make_unique<GradualListing>(std::move(*names), threads, helpers);
  }
};

struct Seen {
  std::string name;
  std::string source;
  std::uint64_t next = 0;
  bool operator==(const Seen&) const = default;
};

// At most `most` entries from a position on, and whether there are no more.
Result<bool> read_some(const ShownListing& listing, std::uint64_t from, std::size_t most,
                       std::vector<Seen>& seen) {
  return listing.read(from, [&](const DirectoryEntry& entry, std::uint64_t next) {
    if (most-- == 0) return false;
    seen.push_back({entry.shown.name, entry.source.name, next});
    return true;
  });
}

std::vector<Seen> read_all(const ShownListing& listing, std::size_t at_once,
                           std::uint64_t from = 0) {
  std::vector<Seen> seen;
  while (true) {
    const auto before = seen.size();
    const auto is_end = read_some(listing, seen.empty() ? from : seen.back().next, at_once, seen);
    REQUIRE(is_end);
    if (*is_end && seen.size() == before) return seen;
  }
}

TEST_CASE("gradual_listing: has the entries of a complete listing, from any position on",
          "[fs][name_map][unit]") {
  Namer namer;
  const std::vector<std::string> others{"x",           "x.b2frame", "1001.npy", "y.b2nd",
                                        "1005.b2lock", "1006",      "z.b2nd",   "z.npy"};
  for (const std::size_t frames : {0UL, 1UL, 120UL, 128UL, 1000UL}) {
    for (const std::size_t helpers : {0UL, 1UL, 2UL}) {
      CAPTURE(frames, helpers);
      const FakeFolder folder(frames, others);
      const auto expected = name_all(folder, namer.choice, namer.pool);
      REQUIRE(expected);
      const auto listing = namer.list(folder, helpers);
      const auto seen = read_all(*listing, 37);
      REQUIRE(seen.size() == expected->size());
      for (std::size_t i = 0; i < seen.size(); ++i) {
        REQUIRE(seen[i].name == (*expected)[i].shown.name);
        REQUIRE(seen[i].source == (*expected)[i].source.name);
      }
      const auto at = seen.size() / 2;
      CHECK(read_all(*listing, 1000, seen[at].next) ==
            std::vector<Seen>(seen.begin() + static_cast<std::ptrdiff_t>(at) + 1, seen.end()));
    }
  }
}

TEST_CASE("gradual_listing: its first entries come before the last ones are probed",
          "[fs][name_map][race]") {
  Namer namer;
  FakeFolder folder(1000);
  std::atomic<bool> is_open{false};
  folder.before = [&](const std::string& name) -> Status {
    if (name >= FakeFolder::name_of(500)) is_open.wait(false);
    return {};
  };
  const auto helpers = GENERATE(0UL, 1UL, 2UL);
  CAPTURE(helpers);
  const auto listing = namer.list(folder, helpers);
  std::vector<Seen> seen;
  test::finish_in_time("the first entries", [&] { CHECK(read_some(*listing, 0, 100, seen)); });
  CHECK(seen.size() == 100);
  is_open.store(true);
  is_open.notify_all();
  CHECK(read_all(*listing, 100).size() == 1000);
  CHECK(folder.probes.load() == 1000);
}

TEST_CASE("gradual_listing: an entry that cannot be probed now is read later",
          "[fs][name_map][unit]") {
  Namer namer;
  FakeFolder folder(1000);
  std::atomic<bool> is_short{true};
  folder.before = [&](const std::string& name) -> Status {
    if (is_short.load() && name == FakeFolder::name_of(300)) return system_error_of(EMFILE, "open");
    return {};
  };
  const auto helpers = GENERATE(0UL, 1UL, 2UL);
  CAPTURE(helpers);
  const auto listing = namer.list(folder, helpers);
  std::vector<Seen> seen;
  std::optional<int> error;
  while (!error && seen.size() < 1000) {
    const auto is_end = read_some(*listing, seen.empty() ? 0 : seen.back().next, 1000, seen);
    if (!is_end) error = is_end.error().sys;
  }
  CHECK(error == EMFILE);
  CHECK(seen.size() == 256);  // those of the parts before
  CHECK(!read_some(*listing, seen.back().next, 1000, seen));
  is_short.store(false);
  const auto all = read_all(*listing, 1000);
  CHECK(all.size() == 1000);
  CHECK(std::equal(seen.begin(), seen.end(), all.begin()));
}

TEST_CASE("gradual_listing: its end waits for the probe under way, and begins no other",
          "[fs][name_map][race]") {
  Namer namer;
  FakeFolder folder(1000);
  std::atomic<bool> is_open{false};
  folder.before = [&](const std::string&) -> Status {
    is_open.wait(false);
    // The end is asked for long before all entries could be probed.
    std::this_thread::sleep_for(std::chrono::milliseconds(3));
    return {};
  };
  auto listing = namer.list(folder, 1);
  REQUIRE(test::comes_true([&] { return folder.probes.load() > 0; }));
  std::atomic<bool> has_ended{false};
  std::thread ending([&] {
    listing.reset();
    has_ended.store(true);
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  CHECK(!has_ended.load());
  is_open.store(true);
  is_open.notify_all();
  ending.join();
  // The probe after the one under way may have begun before the end was asked for.
  const auto probes = folder.probes.load();
  CHECK(probes < 1000);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  CHECK(folder.probes.load() == probes);
}

}  // namespace
}  // namespace framefs::fs::gradual_listing_test
