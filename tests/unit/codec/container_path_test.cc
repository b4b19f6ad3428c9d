#include "codec/container/container_path.h"

#include <string>
#include <vector>

#include "tests/support/catch.h"

namespace framefs::codec::container_path_test {
namespace {

TEST_CASE("container_path: paths below a directory are good", "[codec][container_path][unit]") {
  for (const auto& path : std::vector<std::string>{
           "a", "a/b", "a.b2nd", "...", "..a", ".hidden", "a..", " ", "a\nb", "a\\b", "C:\\x",
           "\xff\xfe", "~", "-rf", std::string(255, 'n'), std::string(255, 'n') + "/b"}) {
    INFO(path);
    CHECK(is_container_path(path));
  }
}

TEST_CASE("container_path: paths that lead elsewhere or nowhere are not",
          "[codec][container_path][corrupt]") {
  for (const auto& path : std::vector<std::string>{
           "", "/", "/a", "a/", "a//b", "//", ".", "..", "./a", "a/.", "a/./b", "../a", "a/..",
           "a/../b", std::string("a\0b", 3), std::string("\0", 1), std::string(256, 'n'),
           "a/" + std::string(256, 'n')}) {
    INFO(path);
    CHECK_FALSE(is_container_path(path));
  }
}

TEST_CASE("container_path: a path is no longer than the system takes",
          "[codec][container_path][unit]") {
  std::string longest = "a";
  while (longest.size() < kMaxContainerPathBytes) longest += "/a";
  REQUIRE(longest.size() == kMaxContainerPathBytes);
  CHECK(is_container_path(longest));
  CHECK_FALSE(is_container_path(longest + "a"));
}

TEST_CASE("container_path: the components . before a slash are left out",
          "[codec][container_path][unit]") {
  CHECK(without_dots("a/b") == "a/b");
  CHECK(without_dots("./a") == "a");
  CHECK(without_dots("././a/./b/././c") == "a/b/c");
  // Every other path stays as it is.
  for (const std::string path : {"", ".", "/", "/a", "a/.", "..", "../a", "a//b", "a./b", ".a/b"}) {
    INFO(path);
    CHECK(without_dots(path) == path);
  }
}

TEST_CASE("container_path: of items with one name the last is kept, in its place",
          "[codec][container_path][unit]") {
  struct Item {
    std::string name;
    int number;
  };
  const auto kept = [](const std::vector<std::string>& names) {
    std::vector<Item> items;
    items.reserve(names.size());
    for (const auto& name : names) items.push_back({name, static_cast<int>(items.size())});
    keep_last_of_each(items, &Item::name);
    std::string out;
    for (const auto& item : items) out += item.name + std::to_string(item.number) + ' ';
    return out;
  };
  CHECK(kept({}).empty());
  CHECK(kept({"a", "b", "c"}) == "a0 b1 c2 ");
  CHECK(kept({"a", "b", "a", "c", "b"}) == "a2 c3 b4 ");
  CHECK(kept({"a", "a", "a"}) == "a2 ");
  const std::string heap(100, 'x');
  CHECK(kept({heap, "b", heap}) == "b1 " + heap + "2 ");
}

}  // namespace
}  // namespace framefs::codec::container_path_test
