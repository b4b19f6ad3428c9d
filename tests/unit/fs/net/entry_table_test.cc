#include "fs/net/store/entry_table.h"

#include <string>
#include <vector>

#include "tests/support/catch.h"

namespace framefs::net::entry_table_test {
namespace {

RemoteEntry entry(std::string name, bool is_directory = false, std::string etag = "") {
  RemoteEntry made;
  made.name = std::move(name);
  made.is_directory = is_directory;
  made.etag = std::move(etag);
  return made;
}

ListedPage page_of(const std::vector<RemoteEntry>& entries) {
  EntryTableBuilder builder({});
  for (const auto& one : entries) REQUIRE(builder.add(one));
  return builder.finish();
}

std::vector<std::string> keys(const EntryTable& table) {
  std::vector<std::string> found;
  for (std::size_t i = 0; i < table.size(); ++i) {
    found.push_back(std::string(table.name(i)) + (table.is_directory(i) ? "/" : ""));
  }
  return found;
}

TEST_CASE("entry_table: entries are in the order of keys", "[net][listing][unit]") {
  const auto page = page_of({entry("d", true), entry("\xff"), entry("d.x"), entry("d0"),
                             entry("d-x"), entry("a b"), entry("a", true)});
  CHECK(keys(page.table) ==
        std::vector<std::string>{"a b", "a/", "d-x", "d.x", "d/", "d0", "\xff"});
  for (std::size_t i = 0; i < page.table.size(); ++i) {
    CHECK(page.table.find(page.table.place(i)) == i);
  }
  CHECK_FALSE(page.table.find({"d", false}));
  CHECK_FALSE(page.table.find({"d-x", true}));
  CHECK_FALSE(page.table.find({"", false}));
}

TEST_CASE("entry_table: an entry comes back as it was", "[net][listing][unit]") {
  RemoteEntry first = entry("b", false, "\"tag\"");
  first.size = std::uint64_t{1} << 60;
  first.mtime_ns = -5;
  RemoteEntry second = entry("a");
  second.is_exact = false;
  const auto page = page_of({first, second, entry("c", true)});
  CHECK(page.table.entry(0) == second);
  CHECK(page.table.entry(1) == first);
  CHECK(page.table.entry(2) == entry("c", true));
}

TEST_CASE("entry_table: no place occurs twice, and a folder covers its object",
          "[net][listing][unit]") {
  const auto page = page_of({entry("x", false, "first"), entry("x", false, "second"),
                             entry("y", false), entry("y", true), entry("y", true)});
  CHECK(keys(page.table) == std::vector<std::string>{"x", "y/"});
  CHECK(page.table.entry(0).etag == "first");
  CHECK(page.covered.count == 1);
  CHECK(page.covered.first == "y");
}

TEST_CASE("entry_table: a million entries take 24 bytes and their texts each",
          "[net][listing][unit]") {
  ListingBudget budget;
  EntryTableBuilder builder(budget.charge());
  constexpr std::size_t kEntries = 1'000'000;
  for (std::size_t i = kEntries; i-- > 0;) {
    REQUIRE(builder.add(entry("k" + std::to_string(1'000'000 + i), false, "\"0123456789abcdef\"")));
  }
  const auto page = builder.finish();
  REQUIRE(page.table.size() == kEntries);
  CHECK(page.table.memory() == kEntries * (24 + 8 + 18));
  CHECK(budget.used() == page.table.memory());
  CHECK(page.table.name(4711) == "k1004711");
}

TEST_CASE("entry_table: a budget that is full refuses entries", "[net][listing][unit]") {
  ListingBudget budget(1 << 20);
  {
    EntryTableBuilder builder(budget.charge());
    Status added;
    std::size_t count = 0;
    for (; added; ++count) added = builder.add(entry(std::to_string(count)));
    CHECK(is_over_budget(added.error()));
    CHECK(count > (1 << 20) / 24 / 2);
  }
  CHECK(budget.used() == 0);
}

}  // namespace
}  // namespace framefs::net::entry_table_test
