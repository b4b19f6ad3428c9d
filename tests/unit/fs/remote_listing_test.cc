#include "fs/remote/remote_listing.h"

#include <dirent.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "fs/core/threads/interrupt.h"
#include "fs/source/suffixes.h"
#include "fs/tree/names/name_map.h"
#include "tests/support/catch.h"
#include "tests/support/random_seed.h"

namespace framefs::fs::remote_listing_test {
namespace {

using net::RemoteEntry;

RemoteEntry entry(const std::string& key) {
  RemoteEntry made;
  made.is_directory = key.ends_with('/');
  made.name = made.is_directory ? key.substr(0, key.size() - 1) : key;
  return made;
}

// A server that has the pages of one folder.
class PagesStore final : public net::ObjectStore {
 public:
  using Keys = std::vector<std::string>;
  explicit PagesStore(std::vector<Keys> pages) : pages_(std::move(pages)) {}

  std::unique_ptr<net::PageRequest> start_page(const std::string&, const std::string& continuation,
                                               net::PageCharge charge) override {
    ++requests;
    const auto shared = std::make_shared<net::PageCharge>(std::move(charge));
    return net::deferred_page([this, continuation, shared]() -> Result<net::ListedPage> {
      if (interrupted()) return system_error_of(EINTR, "page");
      const auto number = continuation.empty() ? 0 : std::stoul(continuation);
      if (number == fails_at) return system_error_of(EACCES, "page");
      if (!shared->body.grow(body_bytes)) return net::over_listing_budget();
      net::EntryTableBuilder builder(std::move(shared->table));
      for (const auto& key : pages_[number]) FRAMEFS_CHECK(builder.add(entry(key)));
      auto page = builder.finish();
      if (number + 1 < pages_.size()) page.continuation = std::to_string(number + 1);
      return page;
    });
  }
  Result<RemoteEntry> stat(const std::string&) override { return system_error_of(ENOENT, "stat"); }
  void start_open(const std::string&, const net::OpenRequest&, OpenDone) override {}

  std::size_t requests = 0;
  std::size_t fails_at = ~std::size_t{0};
  std::uint64_t body_bytes = 0;

 private:
  const std::vector<Keys> pages_;
};

struct Listed {
  explicit Listed(std::vector<PagesStore::Keys> pages, std::uint64_t budget_bytes = 1 << 20)
      : store(std::move(pages)), budget(budget_bytes), listing(make()) {}

  std::shared_ptr<RemoteListing> make() {
    const auto note = [this](const net::LeftOut&, const net::LeftOut& covered) {
      hidden = covered;
      ++ends;
    };
    return std::make_shared<RemoteListing>(
        RemoteListing::Server{store, budget, is_unsorted}, "", ListingAge(MountOptions{}),
        RemoteListing::Report{note, [this](const Error&) { ++failures; }});
  }
  // The keys that are shown now; "!" and an errno for an error, "..." if there are more.
  std::vector<std::string> shown(bool may_wait) {
    std::vector<std::string> keys;
    for (std::size_t at = 0;; ++at) {
      const auto place = listing->at(at, may_wait);
      if (!place) keys.push_back("!" + std::to_string(place.error().sys));
      if (!place || place->kind == RemoteListing::Place::Kind::end) return keys;
      if (place->kind == RemoteListing::Place::Kind::later) {
        keys.emplace_back("...");
        return keys;
      }
      const auto& table = place->page->table;
      if (listing->is_covered(*place)) continue;
      keys.push_back(std::string(table.name(place->index)) +
                     (table.is_directory(place->index) ? "/" : ""));
    }
  }

  PagesStore store;
  net::ListingBudget budget;
  std::atomic<bool> is_unsorted = false;
  net::LeftOut hidden;
  int ends = 0;
  int failures = 0;
  std::shared_ptr<RemoteListing> listing;
};

using Keys = PagesStore::Keys;

TEST_CASE("remote_listing: a page is shown as soon as no later key changes it",
          "[fs][remote][unit]") {
  Listed listed({{"a", "b"}, {"b.b2nd", "c"}, {"d"}});
  REQUIRE(listed.listing->begin());
  CHECK(listed.store.requests == 1);
  // b could become hidden by b/, or b.b2nd be shown as b.
  CHECK(listed.shown(false) == Keys{"..."});
  REQUIRE(listed.listing->at(0, true));
  CHECK(listed.store.requests == 3);  // one ahead
  CHECK(listed.shown(false) == Keys{"a", "b", "..."});
  CHECK(listed.shown(true) == Keys{"a", "b", "b.b2nd", "c", "d"});
  CHECK(listed.store.requests == 3);
  CHECK(listed.ends == 1);
}

TEST_CASE("remote_listing: an object is hidden by a directory of a later page",
          "[fs][remote][unit]") {
  Listed listed({{"x"}, {"x-1", "x-2"}, {"x.b2frame"}, {"x/", "y"}});
  CHECK(listed.shown(true) == Keys{"x-1", "x-2", "x.b2frame", "x/", "y"});
  CHECK(listed.listing->find("x")->is_directory);
  CHECK(listed.hidden.count == 1);
  CHECK(listed.hidden.first == "x");
}

TEST_CASE("remote_listing: names of which the pages know all", "[fs][remote][unit]") {
  Listed listed({{"b", "d"}, {"f"}});
  REQUIRE(listed.listing->begin());
  CHECK(listed.listing->covers("a"));
  CHECK(listed.listing->covers("b"));
  CHECK(listed.listing->covers("c"));
  CHECK_FALSE(listed.listing->covers("d"));  // there may be d/
  CHECK_FALSE(listed.listing->covers("e"));
  REQUIRE(listed.listing->complete());
  CHECK(listed.listing->covers("z"));
  CHECK_FALSE(listed.listing->find("c"));
}

TEST_CASE("remote_listing: an error comes at its place, and stays", "[fs][remote][unit]") {
  Listed listed({{"a"}, {"c"}, {"e"}});
  listed.store.fails_at = 2;
  const auto error = "!" + std::to_string(EACCES);
  CHECK(listed.shown(true) == Keys{"a", error});
  CHECK(listed.shown(true) == Keys{"a", error});
  CHECK(listed.listing->complete().error().sys == EACCES);
  CHECK(listed.listing->has_failed());
  CHECK_FALSE(listed.listing->is_complete());
  CHECK(listed.ends == 0);
  CHECK(listed.failures == 1);
}

TEST_CASE("remote_listing: an interrupted reader leaves the listing as it is",
          "[fs][remote][unit]") {
  Listed listed({{"a"}, {"c"}});
  REQUIRE(listed.listing->begin());
  {
    const InterruptScope scope([] { return true; });
    CHECK(listed.listing->at(0, true).error().sys == EINTR);
    CHECK(listed.listing->complete().error().sys == EINTR);
  }
  CHECK(listed.shown(true) == Keys{"a", "c"});
  CHECK(listed.store.requests == 2);
}

TEST_CASE("remote_listing: keys that are not in order arrive before any is shown",
          "[fs][remote][unit]") {
  Listed listed({{"m"}, {"a", "m/"}, {"b"}});
  CHECK(listed.shown(true) == Keys{"a", "b", "m/"});
  CHECK(listed.is_unsorted);
  CHECK(listed.hidden.count == 1);
}

TEST_CASE("remote_listing: keys that leave their order late are an error once",
          "[fs][remote][unit]") {
  Listed listed({{"c"}, {"e"}, {"a"}});
  CHECK(listed.shown(true) == Keys{"c", "!" + std::to_string(EIO)});
  listed.listing = listed.make();
  CHECK(listed.shown(true) == Keys{"a", "c", "e"});
}

TEST_CASE("remote_listing: a page without room is asked for again when there is room",
          "[fs][remote][unit]") {
  constexpr std::uint64_t kBudget = std::uint64_t{256} << 20;
  Listed listed({{"a"}, {"c"}}, kBudget);
  listed.store.body_bytes = 1 << 20;
  auto other = listed.budget.charge();
  REQUIRE(other.grow(kBudget));
  int evicted = 0;
  listed.budget.set_evict([&] {
    // Nothing at first, so that the page fails.
    if (evicted++ == 0) return false;
    other.shrink_to(0);
    return evicted == 2;
  });
  REQUIRE(listed.listing->complete());
  CHECK(evicted == 2);
  CHECK(listed.shown(true) == Keys{"a", "c"});
}

TEST_CASE("remote_listing: the memory of a listing goes with it", "[fs][remote][unit]") {
  Listed listed({{"a", "b"}, {"c"}});
  REQUIRE(listed.listing->complete());
  CHECK(listed.budget.used() > 0);
  listed.listing = nullptr;
  CHECK(listed.budget.used() == 0);
}

// A folder that knows of its entries only what has arrived.
class PagedFolder final : public Folder {
 public:
  explicit PagedFolder(std::shared_ptr<RemoteListing> listing) : listing_(std::move(listing)) {}

  Result<std::vector<Item>> items() const override { return system_error_of(EIO, "items"); }
  Result<SourceEntry> probe(const std::string& name) const override {
    const auto found = listing_->find(name);
    if (!found) return system_error_of(ENOENT, "lookup");
    SourceEntry probed;
    if (found->is_directory) return probed;
    if (expected(name) == Expected::frame) probed.summary.content = Content::frame;
    if (expected(name) == Expected::array) {
      probed.summary.content = Content::array;
      probed.summary.is_numpy = true;
    }
    return probed;
  }
  bool has_positions() const noexcept override { return true; }
  Result<Place> item_at(std::uint64_t position, bool may_wait) const override {
    FRAMEFS_TRY(const auto place, listing_->at(position, may_wait));
    using Kind = RemoteListing::Place::Kind;
    if (place.kind == Kind::end) return Place{.kind = Place::Kind::end};
    if (place.kind == Kind::later) return Place{.kind = Place::Kind::later};
    if (listing_->is_covered(place)) return Place{.kind = Place::Kind::none};
    const auto& table = place.page->table;
    const bool is_directory = table.is_directory(place.index);
    return Place{Place::Kind::entry,
                 {std::string(table.name(place.index)), 1,
                  static_cast<unsigned char>(is_directory ? DT_DIR : DT_REG)}};
  }

 private:
  const std::shared_ptr<RemoteListing> listing_;
};

// The same folder, all at once.
class WholeFolder final : public Folder {
 public:
  explicit WholeFolder(const PagedFolder& paged, std::vector<Item> items)
      : paged_(paged), items_(std::move(items)) {}
  Result<std::vector<Item>> items() const override { return items_; }
  Result<SourceEntry> probe(const std::string& name) const override { return paged_.probe(name); }

 private:
  const PagedFolder& paged_;
  const std::vector<Item> items_;
};

std::string random_key(std::mt19937& random) {
  constexpr std::array kParts = {"x", "y", "-", ".", ".b2frame", ".b2nd", ".npy", ".b2", "0"};
  std::string key(1, "xy"[random() % 2]);
  for (auto left = random() % 4; left > 0; --left) key += kParts[random() % kParts.size()];
  return key + (random() % 4 == 0 ? "/" : "");
}

std::set<std::string> names_of(const std::vector<DirectoryEntry>& entries) {
  std::set<std::string> names;
  for (const auto& entry : entries) names.insert(entry.shown.name + " of " + entry.source.name);
  return names;
}

// Oracle: the names of the same folder if all its entries are known from the start.
TEST_CASE("remote_listing: names that come page by page are those of the whole folder",
          "[fs][remote][property]") {
  const auto seed = test::random_seed();
  CAPTURE(seed);
  std::mt19937 random(seed);
  WorkerPool pool(1);
  const NameMap names(pool, false, ArrayViews::both);
  for (int round = 0; round < 2000; ++round) {
    std::set<std::string> keys;
    for (auto left = random() % 12; left > 0; --left) keys.insert(random_key(random));
    std::vector<Keys> pages(1);
    for (const auto& key : keys) {
      if (random() % 3 == 0) pages.emplace_back();
      pages.back().push_back(key);
    }
    CAPTURE(pages);
    Listed streamed(pages);
    const auto by_page = names.list(PagedFolder(streamed.listing));
    REQUIRE(by_page);

    std::map<std::string, Folder::Item> items;
    for (const auto& key : keys) {
      const bool is_directory = key.ends_with('/');
      const auto name = is_directory ? key.substr(0, key.size() - 1) : key;
      auto& item = items[name];
      if (item.type != DT_DIR) {
        item = {name, 1, static_cast<unsigned char>(is_directory ? DT_DIR : DT_REG)};
      }
    }
    std::vector<Folder::Item> all;
    for (const auto& [name, item] : items) all.push_back(item);
    const PagedFolder complete(streamed.listing);
    const auto at_once = names.list(WholeFolder(complete, all));
    REQUIRE(at_once);
    CHECK(names_of(*by_page) == names_of(*at_once));
  }
}

}  // namespace
}  // namespace framefs::fs::remote_listing_test
