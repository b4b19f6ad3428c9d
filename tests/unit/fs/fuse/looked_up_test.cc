#include "fs/fuse/ops/looked_up.h"

#include "tests/support/catch.h"

namespace framefs::fuse::looked_up_test {
namespace {

TEST_CASE("looked_up: a directory has many lookups after kMany of them", "[fs][fuse][unit]") {
  LookedUp looked_up;
  for (std::uint64_t i = 1; i < LookedUp::kMany; ++i) looked_up.note(7);
  looked_up.note(8);
  CHECK_FALSE(looked_up.has_many(7));
  looked_up.note(7);
  CHECK(looked_up.has_many(7));
  looked_up.note(7);
  CHECK(looked_up.has_many(7));
  CHECK_FALSE(looked_up.has_many(8));
  CHECK_FALSE(looked_up.has_many(9));
}

TEST_CASE("looked_up: a directory does not inherit the lookups of another one",
          "[fs][fuse][unit]") {
  LookedUp looked_up;
  constexpr fs::NodeId kOther = 7 + 1024;  // the same place in the table
  for (std::uint64_t i = 0; i < LookedUp::kMany; ++i) looked_up.note(7);
  CHECK_FALSE(looked_up.has_many(kOther));
  looked_up.note(kOther);
  CHECK_FALSE(looked_up.has_many(kOther));
  CHECK_FALSE(looked_up.has_many(7));
}

}  // namespace
}  // namespace framefs::fuse::looked_up_test
