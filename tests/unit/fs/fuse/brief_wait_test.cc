#include "fs/fuse/session/brief_wait.h"

#include <algorithm>

#include "tests/support/catch.h"

namespace framefs::fuse::brief_wait_test {
namespace {

// How often a wait asks for a request that never comes.
unsigned asked_in_vain(BriefWait& wait) {
  unsigned asked = 0;
  wait.wait([&] {
    ++asked;
    return false;
  });
  return asked;
}

// The number of waits that are left out before the next one.
unsigned left_out(BriefWait& wait) {
  unsigned count = 0;
  while (asked_in_vain(wait) == 0) ++count;
  return count;
}

TEST_CASE("brief_wait: a wait ends with the first request", "[fuse][brief_wait][unit]") {
  BriefWait wait(true);
  unsigned asked = 0;
  wait.wait([&] { return ++asked == 3; });
  CHECK(asked <= 3);  // fewer on a busy machine
  CHECK(asked >= 1);
}

TEST_CASE("brief_wait: waits in vain become rare", "[fuse][brief_wait][unit]") {
  BriefWait wait(true);
  CHECK(asked_in_vain(wait) >= 1);
  for (unsigned in_vain = 1; in_vain <= BriefWait::kMaxInVain + 2; ++in_vain) {
    CHECK(left_out(wait) == (1u << std::min(in_vain, BriefWait::kMaxInVain)) - 1);
  }
}

TEST_CASE("brief_wait: no wait is left out after one that was not in vain",
          "[fuse][brief_wait][unit]") {
  BriefWait wait(true);
  for (unsigned i = 0; i < BriefWait::kMaxInVain; ++i) left_out(wait);
  // On a busy machine, the thread may get its processor back when the moment is over.
  const auto is_tried_after_success = [&] {
    unsigned asked = 0;
    wait.wait([&] { return ++asked == 2; });
    return asked == 2 && asked_in_vain(wait) > 0;
  };
  unsigned rounds = 0;
  while (!is_tried_after_success() && rounds < 100'000) ++rounds;
  CHECK(rounds < 100'000);
}

TEST_CASE("brief_wait: a request that is there needs no wait", "[fuse][brief_wait][unit]") {
  BriefWait wait(true);
  CHECK(asked_in_vain(wait) >= 1);
  CHECK(left_out(wait) == 1);
  for (unsigned i = 0; i < 10; ++i) wait.wait([] { return true; });
  CHECK(asked_in_vain(wait) >= 1);
  CHECK(left_out(wait) == 7);
}

TEST_CASE("brief_wait: one thread waits at a time", "[fuse][brief_wait][unit]") {
  BriefWait wait(true);
  unsigned asked = 0;
  wait.wait([&] {
    asked = asked_in_vain(wait);
    return true;
  });
  CHECK(asked == 0);
}

TEST_CASE("brief_wait: on a single processor no thread waits", "[fuse][brief_wait][unit]") {
  BriefWait wait(false);
  CHECK(asked_in_vain(wait) == 0);
}

}  // namespace
}  // namespace framefs::fuse::brief_wait_test
