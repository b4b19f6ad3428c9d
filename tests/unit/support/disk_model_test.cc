#include "tests/crash/disk_model.h"

#include <set>
#include <string>

#include "tests/crash/disk_file.h"
#include "tests/crash/disk_names.h"
#include "tests/support/catch.h"
#include "tests/support/temp_directory.h"

namespace framefs::test::disk_model_test {
namespace {

constexpr std::uint64_t kSeeds = 200;

DiskFile::Change write(std::uint64_t moment, std::uint64_t offset, const Bytes& data) {
  return {.moment = moment,
          .kind = RecordKind::write,
          .offset = offset,
          .size = 0,
          .mode = 0,
          .data = data};
}

TEST_CASE("disk_file: synced bytes stay, whatever is lost", "[support][disk_file][unit]") {
  const Bytes old(3000, std::byte{1});
  const Bytes next(3000, std::byte{2});
  DiskFile file(old);
  file.add(write(1, 1000, next));
  file.sync(2);
  CHECK(file.is_durable());
  for (const auto loss : kLosses) {
    const auto bytes = file.bytes_after(loss, 1);
    REQUIRE(bytes.size() == 4000);
    CHECK(bytes[999] == std::byte{1});
    CHECK(bytes[1000] == std::byte{2});
  }
}

TEST_CASE("disk_file: a sync does not cover changes after it began", "[support][disk_file][unit]") {
  const Bytes data(10, std::byte{2});
  DiskFile file;
  file.add(write(5, 0, data));
  file.sync(5);
  CHECK_FALSE(file.is_durable());
  CHECK(file.bytes_after(Loss::all, 0).empty());
  CHECK(file.bytes_after(Loss::nothing, 0) == data);
}

TEST_CASE("disk_file: sectors are lost one by one, and never in parts",
          "[support][disk_file][unit]") {
  const Bytes old(2048, std::byte{1});
  const Bytes next(2048, std::byte{2});
  DiskFile file(old);
  file.add(write(1, 0, next));
  std::set<std::string> seen;
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    const auto bytes = file.bytes_after(Loss::sectors, seed);
    REQUIRE(bytes.size() == 2048);
    std::string sectors;
    for (std::size_t at = 0; at < bytes.size(); at += 512) {
      const auto sector = std::span(bytes).subspan(at, 512);
      CHECK(std::ranges::count(sector, sector[0]) == 512);
      sectors += sector[0] == std::byte{2} ? 'n' : 'o';
    }
    seen.insert(sectors);
  }
  CHECK(seen.size() == 16);
}

TEST_CASE(
    "disk_file: of two changes the first may be lost alone, except where the second covers it",
    "[support][disk_file][unit]") {
  const Bytes old(1536, std::byte{1});
  const Bytes first(1024, std::byte{2});
  const Bytes second(1024, std::byte{3});
  DiskFile file(old);
  file.add(write(1, 0, first));
  file.add(write(2, 512, second));
  bool first_lost = false;
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    const auto bytes = file.bytes_after(Loss::one, seed);
    first_lost = first_lost || (bytes[0] == std::byte{1} && bytes[1024] == std::byte{3});
  }
  CHECK(first_lost);
}

TEST_CASE("disk_file: a truncation is one of the changes", "[support][disk_file][unit]") {
  const Bytes old(1000, std::byte{1});
  DiskFile file(old);
  file.add(
      {.moment = 1, .kind = RecordKind::truncate, .offset = 10, .size = 0, .mode = 0, .data = {}});
  file.add(
      {.moment = 2, .kind = RecordKind::truncate, .offset = 500, .size = 0, .mode = 0, .data = {}});
  const auto all = file.bytes_after(Loss::nothing, 0);
  REQUIRE(all.size() == 500);
  CHECK(all[9] == std::byte{1});
  CHECK(all[10] == std::byte{0});
  std::set<std::size_t> sizes;
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    sizes.insert(file.bytes_after(Loss::ends, seed).size());
  }
  CHECK(sizes == std::set<std::size_t>{10, 500, 1000});
}

std::vector<DiskNames::Setting> moved(const std::string& from, const std::string& to,
                                      DiskNames::Node node) {
  return {{.place = {DiskNames::kRoot, to}, .node = node, .only_if = {}},
          {.place = {DiskNames::kRoot, from}, .node = {}, .only_if = node}};
}

TEST_CASE("disk_names: a rename is made or not, and never half", "[support][disk_names][unit]") {
  for (const bool journal : {true, false}) {
    DiskNames names(journal);
    names.add_durable({DiskNames::kRoot, "old"}, 1);
    names.add_durable({DiskNames::kRoot, "new"}, 2);
    names.change(1, moved("old", "new", 1));
    std::set<std::size_t> sizes;
    for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
      const auto tree = names.tree_after(Loss::sectors, seed);
      const auto& root = tree.at(DiskNames::kRoot);
      sizes.insert(root.size());
      CHECK(root.at("new") == (root.size() == 1 ? 1U : 2U));
    }
    CHECK(sizes == std::set<std::size_t>{1, 2});
  }
}

TEST_CASE("disk_names: a journal keeps the order, and a sync of one node keeps all earlier changes",
          "[support][disk_names][unit]") {
  DiskNames names(true);
  names.change(1, {{.place = {DiskNames::kRoot, "a"}, .node = 1, .only_if = {}}});
  names.change(2, {{.place = {DiskNames::kRoot, "b"}, .node = 2, .only_if = {}}});
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    const auto tree = names.tree_after(Loss::sectors, seed);
    const auto& root = tree.at(DiskNames::kRoot);
    CHECK((root.contains("a") || !root.contains("b")));
  }
  names.sync_node(2, 3);
  const auto tree = names.tree_after(Loss::all, 0);
  CHECK(tree.at(DiskNames::kRoot).size() == 2);
}

TEST_CASE("disk_names: without a journal an older change does not undo a newer one that was synced",
          "[support][disk_names][unit]") {
  DiskNames names(false);
  names.add_durable({DiskNames::kRoot, "x"}, 1);
  names.change(1, {{.place = {DiskNames::kRoot, "y"}, .node = 3, .only_if = {}}});
  names.change(2, {{.place = {DiskNames::kRoot, "y"}, .node = 2, .only_if = {}}});
  names.change(3, moved("x", "y", 1));
  names.sync_node(1, 4);
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    CHECK(names.tree_after(Loss::sectors, seed).at(DiskNames::kRoot).at("y") == 1);
  }
  // Also if the older changes are synced later.
  names.sync_node(3, 4);
  names.sync_node(2, 4);
  CHECK(names.tree_after(Loss::all, 0).at(DiskNames::kRoot).at("y") == 1);
}

TEST_CASE("disk_model: a sync that has not ended promises nothing", "[support][disk_model][unit]") {
  const TempDirectory folder;
  folder.write("file", "old");
  DiskModel disk(folder.path(), true);
  const Bytes data(3, std::byte{'n'});
  const RecordHead write{.kind = RecordKind::write, .inode = 7};
  const RecordHead sync{.kind = RecordKind::sync_begin, .inode = 7, .size = 1};
  REQUIRE(disk.apply(write, "file", "", data));
  REQUIRE(disk.apply(sync, "file", "", {}));
  const auto node = disk.names().find("file");
  REQUIRE(node);
  CHECK(disk.file(*node).bytes_after(Loss::all, 0)[0] == std::byte{'o'});
  REQUIRE(disk.apply({.kind = RecordKind::sync_end, .size = 1}, "file", "", {}));
  CHECK(disk.file(*node).bytes_after(Loss::all, 0)[0] == std::byte{'n'});
}

}  // namespace
}  // namespace framefs::test::disk_model_test
