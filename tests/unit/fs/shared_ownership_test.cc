#include "fs/write/ownership/shared_ownership.h"

#include <fcntl.h>
#include <sys/file.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <thread>
#include <utility>

#include "fs/core/threads/interrupt.h"
#include "fs/core/threads/may_wait.h"
#include "tests/support/catch.h"
#include "tests/support/temp_directory.h"
#include "tests/support/threads.h"
#include "tests/unit/fs/blosc2_library.h"

namespace framefs::fs::shared_ownership_test {
namespace {

using namespace std::chrono_literals;
using test::counted;
using test::Library;

// Longer than any wait in these tests.
constexpr std::chrono::milliseconds kPatience = 60s;

// A frame of which only the facts exist that its ownership asks for.
class FakeFrame final : public SharedOwnership::Frame {
 public:
  [[nodiscard]] Status check_usable() const override {
    return is_lost ? system_error_of(EIO, "lost") : Status();
  }
  Status check() override {
    ++checks;
    return check_usable();
  }
  Status begin_writing() override { return check_usable(); }
  void give_up() noexcept override { is_lost = true; }
  [[nodiscard]] bool needs_owner() const override {
    const bool answer = !is_lost && is_written;
    if (on_question) std::exchange(on_question, nullptr)();
    return answer;
  }
  [[nodiscard]] bool is_superseded() const override { return is_lost && !is_written; }

  bool is_written = false;  // has bytes to commit
  bool is_lost = false;
  int checks = 0;
  mutable std::function<void()> on_question;  // runs once, between a question and its answer
};

// A file that several processes write.
struct WrittenPlace {
  WrittenPlace() { folder.write("x.b2frame", std::span<const std::byte>()); }
  [[nodiscard]] std::unique_ptr<FrameOwnership> ownership() const {
    return ownership(lock_file_opener(*Place::given(path), false));
  }
  [[nodiscard]] std::unique_ptr<FrameOwnership> ownership(Blosc2Lock::Open open) const {
    const auto fd = std::make_shared<const UniqueFd>(::open(path.c_str(), O_RDWR | O_CLOEXEC));
    return std::make_unique<FrameOwnership>(
        FrameOwnership::Frame{.fd = fd->get(), .kind = FrameLock::Kind::file, .keeper = fd},
        Blosc2Lock(std::move(open)));
  }

  const test::TempDirectory folder;
  const std::filesystem::path path = folder.path() / "x.b2frame";
  const std::filesystem::path lock_file = folder.path() / "x.b2frame.b2lock";
};

// A frame and its ownership in one process, beside another process.
struct Owner {
  explicit Owner(const WrittenPlace& place)
      : ownership(frame, place.ownership()), other(place.ownership()) {}
  [[nodiscard]] bool is_refused_to_other() const {
    const auto taken = other->take(0ms);
    if (taken) other->release();
    return !taken && taken.error().sys == EBUSY;
  }

  FakeFrame frame;
  SharedOwnership ownership;
  const std::unique_ptr<FrameOwnership> other;
};

}  // namespace

TEST_CASE("shared_ownership: changes join an owner, and the last one releases the frame",
          "[fs][shared_ownership][unit]") {
  const WrittenPlace place;
  Owner owner(place);
  auto& [frame, ownership, other] = owner;
  CHECK_FALSE(ownership.is_owned());
  CHECK_FALSE(owner.is_refused_to_other());
  std::optional<SharedOwnership::Change> first(std::move(*ownership.begin_change(0ms, nullptr)));
  CHECK(frame.checks == 1);
  CHECK(owner.is_refused_to_other());
  {
    const auto second = ownership.begin_change(0ms, nullptr);
    REQUIRE(second);
    // Only the change that takes the ownership looks for changes of other programs.
    CHECK(frame.checks == 1);
    first.reset();
    CHECK(ownership.is_owned());
    CHECK(owner.is_refused_to_other());
  }
  CHECK_FALSE(ownership.is_owned());
  CHECK_FALSE(owner.is_refused_to_other());
  CHECK(ownership.begin_change(0ms, nullptr));
  CHECK(frame.checks == 2);
}

TEST_CASE("shared_ownership: a frame that has bytes to commit keeps its owner",
          "[fs][shared_ownership][unit]") {
  const WrittenPlace place;
  Owner owner(place);
  auto& [frame, ownership, other] = owner;
  {
    const auto change = ownership.begin_change(0ms, nullptr);
    REQUIRE(change);
    frame.is_written = true;
  }
  CHECK(ownership.is_owned());
  ownership.release_unneeded();
  CHECK(ownership.is_owned());
  CHECK(owner.is_refused_to_other());
  {
    const auto change = ownership.begin_change(0ms, nullptr);
    REQUIRE(change);
    frame.is_written = false;
    ownership.release_unneeded();
    CHECK(owner.is_refused_to_other());
    frame.is_written = true;
  }
  CHECK(owner.is_refused_to_other());
  SECTION("until a commit") { frame.is_written = false; }
  SECTION("until they are lost") { frame.is_lost = true; }
  ownership.release_unneeded();
  CHECK_FALSE(ownership.is_owned());
  CHECK_FALSE(owner.is_refused_to_other());
}

// The change begins after the frame was asked whether it needs its owner.
TEST_CASE("shared_ownership: a change that begins during a release keeps the frame",
          "[fs][shared_ownership][unit]") {
  const WrittenPlace place;
  Owner owner(place);
  auto& [frame, ownership, other] = owner;
  const bool has_ended = GENERATE(false, true);
  CAPTURE(has_ended);
  std::optional<SharedOwnership::Change> late;
  {
    const auto change = ownership.begin_change(0ms, nullptr);
    REQUIRE(change);
    frame.on_question = [&] {
      late.emplace(std::move(*ownership.begin_change(0ms, nullptr)));
      frame.is_written = true;
      if (has_ended) late.reset();
    };
  }
  CHECK(late.has_value() != has_ended);
  CHECK(ownership.is_owned());
  CHECK(owner.is_refused_to_other());
  frame.is_written = false;
  late.reset();
  ownership.release_unneeded();
  CHECK_FALSE(owner.is_refused_to_other());
}

TEST_CASE("shared_ownership: while another process owns the frame, no change begins",
          "[fs][shared_ownership][unit]") {
  const WrittenPlace place;
  Owner owner(place);
  auto& [frame, ownership, other] = owner;
  REQUIRE(other->take(0ms));
  const auto refused = ownership.begin_change(20ms, nullptr);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().sys == EBUSY);
  {
    const InterruptScope scope([] { return true; });
    const auto interrupted = ownership.begin_change(kPatience, nullptr);
    REQUIRE_FALSE(interrupted);
    CHECK(interrupted.error().sys == EINTR);
  }
  CHECK_FALSE(ownership.is_owned());
  CHECK(frame.checks == 0);
  other->release();
  CHECK(ownership.begin_change(0ms, nullptr));
}

TEST_CASE("shared_ownership: a thread that must not wait waits for no process and no thread",
          "[fs][shared_ownership][race]") {
  const WrittenPlace place;
  Owner owner(place);
  auto& [frame, ownership, other] = owner;
  REQUIRE(other->take(0ms));
  const auto is_refused = [&owned = ownership] {
    int asked = 0;  // again and again during a wait
    const InterruptScope waits([&] { return ++asked > 3; });
    const NoWaitScope scope;
    return !owned.begin_change(kPatience, nullptr) && scope.has_refused();
  };
  CHECK(is_refused());
  std::atomic<bool> is_waiting{false};
  std::optional<SharedOwnership::Change> change;
  {
    std::jthread waiting([&, &owned = ownership] {
      const InterruptScope scope([&] {
        is_waiting = true;
        return false;
      });
      if (auto begun = owned.begin_change(kPatience, nullptr)) change.emplace(std::move(*begun));
    });
    CHECK(test::comes_true([&] { return is_waiting.load(); }));
    CHECK(is_refused());
    other->release();
  }
  REQUIRE(change);
  // To join takes no wait.
  CHECK_FALSE(is_refused());
}

TEST_CASE("shared_ownership: a frame that another program has changed is lost to its owner",
          "[fs][shared_ownership][unit]") {
  const WrittenPlace place;
  const Library library(place.lock_file);
  Owner owner(place);
  auto& [frame, ownership, other] = owner;
  frame.is_written = GENERATE(false, true);
  const bool has_successor = GENERATE(false, true);
  CAPTURE(frame.is_written, has_successor);
  library.set_counter(1);
  std::unique_ptr<FrameOwnership> successor;
  const auto refused = ownership.begin_change(0ms, has_successor ? &successor : nullptr);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().sys == EIO);
  CHECK(frame.is_lost);
  CHECK_FALSE(ownership.is_owned());
  // A successor gets the frame only if no bytes of this one are lost.
  const bool is_given = has_successor && !frame.is_written;
  CHECK((successor != nullptr) == is_given);
  CHECK(owner.is_refused_to_other() == is_given);
  CHECK(library.try_lock(LOCK_SH) != is_given);
  const auto again = ownership.begin_change(0ms, nullptr);
  REQUIRE_FALSE(again);
  CHECK(again.error().sys == EIO);
  CHECK(ownership.is_overtaken(counted(place.lock_file, 17)) != is_given);
  if (!is_given) return;
  FakeFrame next;
  SharedOwnership next_ownership(next, std::move(successor));
  CHECK(next_ownership.begin_change(0ms, nullptr));
  CHECK_FALSE(next.is_lost);
}

TEST_CASE("shared_ownership: the counter of a lock file tells whether another program was there",
          "[fs][shared_ownership][unit]") {
  const WrittenPlace place;
  const Library library(place.lock_file);
  library.set_counter(3);
  Owner owner(place);
  auto& ownership = owner.ownership;
  CHECK_FALSE(ownership.is_overtaken(counted(place.lock_file, 3)));
  CHECK(ownership.is_overtaken(counted(place.lock_file, 4)));
  {
    const auto change = ownership.begin_change(0ms, nullptr);
    REQUIRE(change);
    CHECK(library.counter() == 4);
    // Nobody else changes the frame of an owner.
    CHECK_FALSE(ownership.is_overtaken(counted(place.lock_file, 17)));
  }
  CHECK_FALSE(ownership.is_overtaken(counted(place.lock_file, 4)));
  CHECK(ownership.is_overtaken(counted(place.lock_file, 3)));
}

TEST_CASE("shared_ownership: an owner respects a lock file that appears",
          "[fs][shared_ownership][unit]") {
  const WrittenPlace place;
  Owner owner(place);
  auto& [frame, ownership, other] = owner;
  {
    const auto change = ownership.begin_change(0ms, nullptr);
    REQUIRE(change);
    frame.is_written = true;
  }
  CHECK(ownership.take_new_lock_file());  // there is none
  const Library library(place.lock_file);
  REQUIRE(library.try_lock(LOCK_EX));
  {
    const NoWaitScope scope;
    CHECK_FALSE(ownership.take_new_lock_file());
    CHECK(scope.has_refused());
  }
  CHECK(ownership.is_owned());
  const bool is_overtaken = GENERATE(false, true);
  CAPTURE(is_overtaken);
  if (is_overtaken) library.set_counter(1);
  library.unlock();
  const auto taken = ownership.take_new_lock_file();
  CHECK(taken.has_value() != is_overtaken);
  CHECK(frame.is_lost == is_overtaken);
  // A loss ends the need for an owner.
  CHECK(ownership.is_owned() != is_overtaken);
  CHECK(library.try_lock(LOCK_SH) == is_overtaken);
}

TEST_CASE("shared_ownership: an owner whose frame has another name takes its lock file",
          "[fs][shared_ownership][unit]") {
  const WrittenPlace place;
  const Library library(place.folder.path() / "y.b2frame.b2lock");
  library.set_counter(7);
  bool has_name = false;
  FakeFrame frame;
  SharedOwnership ownership(frame, place.ownership([&](int flags) -> Blosc2Lock::Opened {
    if (!has_name) return {{}, system_error_of(ENOENT, "open")};
    return lock_file_opener(*Place::given(place.folder.path() / "y.b2frame"), false)(flags);
  }));
  const auto change = ownership.begin_change(0ms, nullptr);
  REQUIRE(change);
  frame.is_written = true;
  has_name = true;
  place.folder.write("y.b2frame", std::span<const std::byte>());
  CHECK(ownership.take_new_lock_file());
  CHECK_FALSE(frame.is_lost);
  CHECK(library.counter() == 8);
  CHECK_FALSE(library.try_lock(LOCK_SH));
}

TEST_CASE("shared_ownership: a process that does not own the frame takes no lock file",
          "[fs][shared_ownership][unit]") {
  const WrittenPlace place;
  const Library library(place.lock_file);
  Owner owner(place);
  CHECK(owner.ownership.take_new_lock_file());
  CHECK(library.counter() == 0);
  CHECK(library.try_lock(LOCK_EX));
}

TEST_CASE("shared_ownership: one process at a time owns the frame, whichever threads change it",
          "[fs][shared_ownership][race]") {
  constexpr std::size_t kThreadsEach = 2;
  constexpr int kRounds = 25;
  const WrittenPlace place;
  std::array<FakeFrame, 2> frames;
  std::array<SharedOwnership, 2> processes{SharedOwnership(frames[0], place.ownership()),
                                           SharedOwnership(frames[1], place.ownership())};
  std::array<std::atomic<int>, 2> changing{};
  std::atomic<int> failures{0};
  test::on_threads(2 * kThreadsEach, [&](std::size_t thread) {
    const auto self = thread % 2;
    for (int round = 0; round < kRounds; ++round) {
      const auto change = processes[self].begin_change(kPatience, nullptr);
      if (!change) {
        ++failures;
        continue;
      }
      ++changing[self];
      if (changing[1 - self] != 0) ++failures;
      std::this_thread::yield();
      if (changing[1 - self] != 0) ++failures;
      --changing[self];
    }
  });
  CHECK(failures == 0);
  CHECK_FALSE(processes[0].is_owned());
  CHECK_FALSE(processes[1].is_owned());
}

}  // namespace framefs::fs::shared_ownership_test
