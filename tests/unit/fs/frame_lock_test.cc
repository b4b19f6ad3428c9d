#include "fs/write/ownership/frame_lock.h"

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <memory>
#include <thread>
#include <utility>

#include "fs/core/threads/interrupt.h"
#include "tests/support/catch.h"
#include "tests/support/temp_directory.h"
#include "tests/support/threads.h"
#include "tests/unit/fs/write_mount.h"

namespace framefs::fs::frame_lock_test {
namespace {

using namespace std::chrono_literals;

// Longer than any wait in these tests.
constexpr std::chrono::milliseconds kPatience = 60s;

// A file or directory that is opened twice, as two processes would open it.
class TwoWriters {
 public:
  explicit TwoWriters(bool is_directory) : is_directory_(is_directory) {
    if (is_directory) {
      std::filesystem::create_directory(path_);
    } else {
      folder_.write("x", std::span<const std::byte>());
    }
  }
  [[nodiscard]] FrameLock::Kind kind() const {
    return is_directory_ ? FrameLock::Kind::directory : FrameLock::Kind::file;
  }
  [[nodiscard]] UniqueFd open() const {
    return UniqueFd(
        ::open(path_.c_str(), (is_directory_ ? O_RDONLY | O_DIRECTORY : O_RDWR) | O_CLOEXEC));
  }

 private:
  const bool is_directory_;
  test::TempDirectory folder_;
  const std::filesystem::path path_ = folder_.path() / "x";
};

}  // namespace

TEST_CASE("frame_lock: one of two writers has the frame, until it gives it up",
          "[fs][frame_lock][unit]") {
  const TwoWriters writers(GENERATE(false, true));
  const auto one_fd = writers.open();
  auto other_fd = writers.open();
  FrameLock one(one_fd.get(), writers.kind());
  REQUIRE(one.take(0ms));
  CHECK(one.is_held());
  CHECK(one.take(0ms));
  {
    FrameLock other(other_fd.get(), writers.kind());
    const auto refused = other.take(30ms);
    REQUIRE_FALSE(refused);
    CHECK(refused.error().sys == EBUSY);
    CHECK(refused.error().value == ::getpid());
    const auto at_once = other.take(0ms);
    REQUIRE_FALSE(at_once);
    CHECK_FALSE(at_once.error().value);  // nothing is searched for without a wait
    CHECK_FALSE(other.is_held());
    one.release();
    CHECK_FALSE(one.is_held());
    CHECK(other.take(0ms));
    CHECK_FALSE(one.take(0ms));
  }
  // A destroyed lock is released.
  CHECK(one.take(0ms));
  one.release();
  other_fd = UniqueFd();
  CHECK(one.take(0ms));
}

TEST_CASE("frame_lock: the lock of a new frame is taken only if no other process has it",
          "[fs][frame_lock][unit]") {
  const TwoWriters writers(GENERATE(false, true));
  const auto one_fd = writers.open();
  const auto other_fd = writers.open();
  FrameLock one(one_fd.get(), writers.kind());
  FrameLock other(other_fd.get(), writers.kind());
  REQUIRE(one.try_take());
  CHECK(one.is_held());
  CHECK(one.try_take());
  CHECK_FALSE(other.try_take());
  CHECK_FALSE(other.is_held());
  CHECK_FALSE(other.take(0ms));
  one.release();
  CHECK(other.try_take());
  CHECK_FALSE(one.take(0ms));
}

TEST_CASE("frame_lock: a writer that takes the frame again and again lets others have it",
          "[fs][frame_lock][race]") {
  const TwoWriters writers(false);
  const auto one_fd = writers.open();
  const auto other_fd = writers.open();
  FrameLock one(one_fd.get(), writers.kind());
  REQUIRE(one.take(0ms));
  std::atomic<bool> other_took_it{false};  // the only thing that the threads share
  bool one_took_all = true;
  {
    std::jthread waiting([&] {
      FrameLock other(other_fd.get(), writers.kind());
      other_took_it = other.take(kPatience).has_value();
    });
    for (int i = 0; one_took_all && i < 1'000'000; ++i) {
      one.release();
      one_took_all = one.take(kPatience).has_value() && !other_took_it;
    }
  }
  CHECK(other_took_it);
}

TEST_CASE("frame_lock: a wait ends when its caller gives up", "[fs][frame_lock][race]") {
  const TwoWriters writers(GENERATE(false, true));
  const auto one_fd = writers.open();
  const auto other_fd = writers.open();
  FrameLock one(one_fd.get(), writers.kind());
  REQUIRE(one.take(0ms));
  FrameLock other(other_fd.get(), writers.kind());
  int asked = 0;
  const InterruptScope scope([&] { return ++asked > 2; });
  const auto taken = other.take(24h);
  REQUIRE_FALSE(taken);
  CHECK(taken.error().sys == EINTR);
}

// Of two writers of one mount, the first waits for another process, and the second for the first.
TEST_CASE("frame_lock: a writer that waits for another writer's wait can give up as well",
          "[fs][frame_lock][race]") {
  const test::TempDirectory folder;
  const auto path = folder.path() / "x.b2frame";
  test::WriteMount mount;
  mount.create(path, {.encode = {}, .chunksize = 1000}, false);
  const auto owner = mount.open(path);
  const auto session = mount.open(path);
  auto owned = std::make_unique<FrameWriteSession::Change>(std::move(*owner->begin_change(0ms)));
  std::atomic<bool> is_waiting{false};
  bool did_first_get_it = false;
  std::jthread first([&] {
    const InterruptScope scope([&] {
      is_waiting = true;
      return false;
    });
    did_first_get_it = session->begin_change(kPatience).has_value();
  });
  REQUIRE(test::comes_true([&] { return is_waiting.load(); }));
  int error = 0;
  test::finish_in_time("second writer", [&] {
    const InterruptScope scope([] { return true; });
    const auto begun = session->begin_change(24h);
    error = begun ? 0 : begun.error().sys;
  });
  CHECK(error == EINTR);
  owned.reset();
  first.join();
  CHECK(did_first_get_it);
  CHECK(mount.lines().empty());
}

TEST_CASE("frame_lock: on a filesystem without locks, no writer is refused",
          "[fs][frame_lock][unit]") {
  // A descriptor that is not open for writing cannot be locked.
  const test::TempDirectory folder;
  folder.write("x", std::span<const std::byte>());
  const auto path = folder.path() / "x";
  const UniqueFd one_fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  const UniqueFd other_fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  FrameLock one(one_fd.get(), FrameLock::Kind::file);
  FrameLock other(other_fd.get(), FrameLock::Kind::file);
  CHECK(one.take(0ms));
  CHECK(other.take(0ms));
}

TEST_CASE("frame_lock: a frame is its writer's from the first change to the commit",
          "[fs][frame_lock][unit]") {
  const bool sparse = GENERATE(false, true);
  const test::TempDirectory folder;
  const auto path = folder.path() / "x.b2frame";
  test::WriteMount mount;
  mount.create(path, {.encode = {}, .chunksize = 1000}, sparse);
  const auto one = mount.open(path);
  const auto other = mount.open(path);
  const test::Bytes bytes(3000, std::byte{5});
  const FrameWriteSession::Piece piece{0, bytes};
  {
    const auto change = one->begin_change(0ms);
    REQUIRE(change);
    const auto refused = other->begin_change(0ms);
    REQUIRE_FALSE(refused);
    CHECK(refused.error().sys == EBUSY);
    REQUIRE(one->write(std::span(&piece, 1)));
  }
  CHECK_FALSE(other->begin_change(0ms));
  REQUIRE(one->flush());
  CHECK_FALSE(other->begin_change(0ms));
  REQUIRE(one->commit(false));
  // The lock is free, but the other session's state is outdated.
  const auto late = other->begin_change(0ms);
  REQUIRE_FALSE(late);
  CHECK(late.error().sys == EIO);
  CHECK(other->is_lost());
  CHECK_FALSE(other->has_uncommitted());
  CHECK(mount.open(path)->begin_change(0ms));
  CHECK(one->begin_change(0ms));
  // The log states the reason for the refusal.
  CHECK_FALSE(mount.lines().empty());
}

}  // namespace framefs::fs::frame_lock_test
