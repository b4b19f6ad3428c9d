#include "fs/read/read_habits.h"

#include <cstdint>

#include "tests/support/catch.h"

namespace framefs::fs::read_habits_test {
namespace {

constexpr std::uint64_t kFile = 0x123456789abcdef1;

TEST_CASE("read_habits: the last habit of a file is remembered", "[fs][read_habits][unit]") {
  ReadHabits habits;
  CHECK(habits.of(kFile) == ReadHabit::unknown);
  CHECK(habits.of(0) == ReadHabit::unknown);
  habits.note(kFile, ReadHabit::scans);
  CHECK(habits.of(kFile) == ReadHabit::scans);
  habits.note(kFile, ReadHabit::jumps);
  CHECK(habits.of(kFile) == ReadHabit::jumps);
  // A reader that has read too little says nothing of the file.
  habits.note(kFile, ReadHabit::unknown);
  CHECK(habits.of(kFile) == ReadHabit::jumps);
}

TEST_CASE("read_habits: files are told apart by all bits of their hashes",
          "[fs][read_habits][unit]") {
  ReadHabits habits;
  habits.note(kFile, ReadHabit::scans);
  for (unsigned bit = 0; bit < 64; ++bit) {
    CAPTURE(bit);
    CHECK(habits.of(kFile ^ std::uint64_t{1} << bit) == ReadHabit::unknown);
  }
}

}  // namespace
}  // namespace framefs::fs::read_habits_test
