#include "fs/tree/records/told_state.h"

#include "tests/support/catch.h"

namespace framefs::fs::told_state_test {
namespace {

TEST_CASE("told_state: the kernel knows one state until it is told another",
          "[fs][told_state][unit]") {
  const FileIdentity one{.device = 1, .inode = 2, .size = 3, .mtime_ns = 4};
  auto other = one;
  other.size = 5;
  ToldState told;
  CHECK(told.note_change());
  CHECK_FALSE(told.note_change());
  CHECK(told.is(one));  // the next state
  CHECK(told.is(one));
  CHECK_FALSE(told.is(other));
  CHECK_FALSE(told.note_change());
  told.set(other);
  CHECK(told.is(other));
  CHECK_FALSE(told.is(one));
  told.reset_if_wrong();
  CHECK_FALSE(told.is(one));
  CHECK(told.note_change());
  CHECK(told.is(other));
  told.reset_if_wrong();
  CHECK(told.is(one));
  CHECK(told.note_change());
}

}  // namespace
}  // namespace framefs::fs::told_state_test
