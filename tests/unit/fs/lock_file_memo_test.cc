#include "fs/tree/records/lock_file_memo.h"

#include <chrono>

#include "tests/support/catch.h"

namespace framefs::fs::lock_file_memo_test {
namespace {

TEST_CASE("lock_file_memo: what was found belongs to one content", "[fs][lock_file_memo][unit]") {
  LockFileMemo memo;
  CHECK(memo.is_of(ContentId{}));  // of a node that was never opened
  CHECK_FALSE(memo.exists());
  memo.note(ContentId{1}, true);
  CHECK(memo.exists());
  CHECK(memo.is_of(ContentId{1}));
  CHECK_FALSE(memo.is_of(ContentId{2}));
  memo.note(ContentId{2}, false);
  CHECK_FALSE(memo.exists());
}

TEST_CASE("lock_file_memo: a counter is new once", "[fs][lock_file_memo][unit]") {
  LockFileMemo memo;
  CHECK_FALSE(memo.note_counter(0));
  CHECK(memo.note_counter(7));
  CHECK_FALSE(memo.note_counter(7));
  CHECK(memo.note_counter(6));
}

TEST_CASE("lock_file_memo: a lock is busy for a while", "[fs][lock_file_memo][unit]") {
  const auto now = LockFileMemo::Clock::now();
  LockFileMemo memo;
  CHECK_FALSE(memo.is_busy(now));
  memo.note_busy(now + std::chrono::seconds(1));
  CHECK(memo.is_busy(now));
  CHECK_FALSE(memo.is_busy(now + std::chrono::seconds(1)));
}

}  // namespace
}  // namespace framefs::fs::lock_file_memo_test
