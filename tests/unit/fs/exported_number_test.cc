#include "fs/tree/nodes/exported_number.h"

#include <set>

#include "tests/support/catch.h"

namespace framefs::fs::exported_number_test {
namespace {

NodeKey key_of(std::uint64_t inode, ShownAs shown_as) {
  return {.device = 1, .inode = inode, .shown_as = shown_as, .member = {}};
}

TEST_CASE("exported_number: a number leads back to inode and form", "[fs][exported_number][unit]") {
  std::set<NodeId> numbers;
  for (const auto shown_as : {ShownAs::itself, ShownAs::frame, ShownAs::array, ShownAs::npy}) {
    for (const std::uint64_t inode : {1ull, 2ull, 0xffff'ffffull, 0xff'ffff'ffff'ffffull}) {
      const auto number = exported_number(key_of(inode, shown_as));
      REQUIRE(number);
      CHECK(numbers.insert(*number).second);
      const auto file = exported_file(*number);
      REQUIRE(file);
      CHECK(file->inode == inode);
      CHECK(file->shown_as == shown_as);
    }
  }
}

TEST_CASE("exported_number: nodes that no inode number leads to have none",
          "[fs][exported_number][unit]") {
  CHECK_FALSE(exported_number(key_of(0x100'0000'0000'0000ull, ShownAs::itself)));
  CHECK_FALSE(exported_number(key_of(5, ShownAs::container)));
  CHECK_FALSE(exported_number(key_of(5, ShownAs::single_entry)));
  auto key = key_of(5, ShownAs::frame);
  key.by_full_name = true;
  CHECK_FALSE(exported_number(key));
  key = key_of(5, ShownAs::frame);
  key.member = "member";
  CHECK_FALSE(exported_number(key));
}

// Oracle: the numbers that a table counts up never get there.
TEST_CASE("exported_number: other numbers lead to no file", "[fs][exported_number][unit]") {
  for (const NodeId number : {0ull, 1ull, 2ull, 0xff'ffff'ffff'ffffull, 0x0500'0000'0000'0001ull,
                              0xffff'ffff'ffff'ffffull}) {
    INFO(number);
    CHECK_FALSE(exported_file(number));
  }
}

// Oracle: clients keep handles over upgrades.
TEST_CASE("exported_number: the numbers never change", "[fs][exported_number][unit]") {
  CHECK(exported_number(key_of(5, ShownAs::itself)) == 0x0100'0000'0000'0005ull);
  CHECK(exported_number(key_of(5, ShownAs::frame)) == 0x0200'0000'0000'0005ull);
  CHECK(exported_number(key_of(5, ShownAs::array)) == 0x0300'0000'0000'0005ull);
  CHECK(exported_number(key_of(5, ShownAs::npy)) == 0x0400'0000'0000'0005ull);
}

}  // namespace
}  // namespace framefs::fs::exported_number_test
