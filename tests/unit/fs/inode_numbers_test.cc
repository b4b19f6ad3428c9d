#include "fs/tree/nodes/inode_numbers.h"

#include <cstdint>
#include <set>
#include <vector>

#include "tests/support/catch.h"
#include "tests/support/threads.h"

namespace framefs::fs::inode_numbers_test {
namespace {

TEST_CASE("inode_numbers: files of SOURCE's own device keep their numbers",
          "[fs][inode_numbers][unit]") {
  InodeNumbers numbers(42);
  for (const std::uint64_t inode :
       {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{1} << 40, ~std::uint64_t{0}}) {
    CHECK(numbers.shown(42, inode) == inode);
  }
}

// Oracle: a set.  Realistic numbers do not collide, and do not change.
TEST_CASE("inode_numbers: equal numbers on different devices get different numbers",
          "[fs][inode_numbers][unit]") {
  InodeNumbers numbers(42);
  std::set<std::uint64_t> shown;
  std::size_t count = 0;
  for (int pass = 0; pass < 2; ++pass) {
    for (std::uint64_t device = 1; device < 300; ++device) {
      for (const std::uint64_t inode :
           {std::uint64_t{1}, std::uint64_t{2}, std::uint64_t{1} << 32}) {
        shown.insert(numbers.shown(device, inode));
        if (pass == 0) ++count;
      }
    }
  }
  CHECK(shown.size() == count);
}

TEST_CASE("inode_numbers: all threads get the same numbers", "[fs][inode_numbers][race]") {
  InodeNumbers numbers(0);
  std::vector<std::vector<std::uint64_t>> shown(8);
  test::on_threads(shown.size(), [&](std::size_t thread) {
    for (std::uint64_t i = 0; i < 100; ++i) {
      // Each thread uses another order.
      const std::uint64_t device = (i + thread * 13) % 100 + 1;
      static_cast<void>(numbers.shown(device, 7));
    }
    for (std::uint64_t device = 1; device <= 100; ++device) {
      shown[thread].push_back(numbers.shown(device, 7));
    }
  });
  for (const auto& seen : shown) CHECK(seen == shown[0]);
  CHECK(std::set(shown[0].begin(), shown[0].end()).size() == 100);
}

}  // namespace
}  // namespace framefs::fs::inode_numbers_test
