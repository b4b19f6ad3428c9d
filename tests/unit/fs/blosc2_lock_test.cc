#include "fs/source/blosc2_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <string>
#include <thread>

#include "fs/core/threads/interrupt.h"
#include "fs/write/ownership/frame_ownership.h"
#include "tests/support/catch.h"
#include "tests/support/read_file.h"
#include "tests/support/temp_directory.h"
#include "tests/unit/fs/blosc2_library.h"
#include "tests/unit/fs/test_mount.h"
#include "tests/unit/fs/write_mount.h"

namespace framefs::fs::blosc2_lock_test {
namespace {

using namespace std::chrono_literals;
namespace stdfs = std::filesystem;
using test::counted;
using test::Library;

// Longer than any wait in these tests.
constexpr std::chrono::milliseconds kPatience = 60s;

// A file and its lock, and the name of its lock file.
struct Locked {
  test::TempDirectory folder;
  stdfs::path frame = folder.path() / "x.b2frame";
  stdfs::path file = folder.path() / "x.b2frame.b2lock";

  Locked() { folder.write("x.b2frame", std::span<const std::byte>()); }
  [[nodiscard]] Blosc2Lock lock(bool creates = false) const {
    return Blosc2Lock(lock_file_opener(*Place::given(frame), false), creates);
  }
};

std::vector<std::byte> content_of(char letter, std::size_t size) {
  return std::vector<std::byte>(size, static_cast<std::byte>(letter));
}

void write_all(FrameWriteSession& session, const std::vector<std::byte>& bytes) {
  const FrameWriteSession::Piece piece{0, bytes};
  const auto written = session.write(std::span(&piece, 1));
  REQUIRE(written);
  REQUIRE(written->missing_room == 0);
}

// A frame and its write session; `lock_file` is the path of its lock file.
struct WrittenFrame {
  explicit WrittenFrame(bool is_sparse)
      : sparse(is_sparse), lock_file(lock_file_of(path.string(), is_sparse)) {
    mount.create(path, {.encode = {}, .chunksize = 1000}, sparse);
  }
  [[nodiscard]] std::shared_ptr<FrameWriteSession> open() {
    mount.change_opening = [this](FrameWriteSession::Opening& opening) {
      const auto fd = std::make_shared<const UniqueFd>(
          ::open(path.c_str(), (sparse ? O_RDONLY : O_RDWR) | O_CLOEXEC));
      opening.ownership = std::make_unique<FrameOwnership>(
          FrameOwnership::Frame{.fd = fd->get(),
                                .kind = sparse ? FrameLock::Kind::directory : FrameLock::Kind::file,
                                .keeper = fd},
          Blosc2Lock(lock_file_opener(*Place::given(path), sparse), creates));
    };
    return mount.open(path);
  }

  const bool sparse;
  test::TempDirectory folder;
  stdfs::path path = folder.path() / "x.b2frame";
  stdfs::path lock_file;
  test::WriteMount mount;
  bool creates = false;
};

}  // namespace

TEST_CASE("blosc2_lock: without a lock file nothing is locked and none is created",
          "[fs][blosc2_lock][unit]") {
  const Locked given;
  auto lock = given.lock();
  CHECK(lock.share(0ms));
  CHECK_FALSE(lock.is_held());
  CHECK(lock.own(0ms));
  CHECK_FALSE(lock.is_held());
  CHECK(lock.counter().value == 0);
  CHECK(lock.peek().value == 0);
  CHECK_FALSE(stdfs::exists(given.file));
}

TEST_CASE("blosc2_lock: a lock file is created on demand, for all who may open the frame",
          "[fs][blosc2_lock][unit]") {
  const Locked given;
  REQUIRE(::chmod(given.frame.c_str(), 0664) == 0);
  auto lock = given.lock(true);
  CHECK(lock.share(0ms));
  CHECK_FALSE(stdfs::exists(given.file));
  REQUIRE(lock.own(0ms));
  CHECK(lock.is_held());
  struct stat st{};
  REQUIRE(::stat(given.file.c_str(), &st) == 0);
  CHECK((st.st_mode & 07777) == 0664);
  // Eight bytes that nobody writes, and the counter.
  CHECK(st.st_size == 16);
  const Library library(given.file);
  CHECK(library.counter() == 1);
}

TEST_CASE("blosc2_lock: readers share the lock, a writer has it alone", "[fs][blosc2_lock][unit]") {
  const Locked given;
  const Library library(given.file);
  auto one = given.lock();
  auto other = given.lock();
  REQUIRE(one.share(0ms));
  CHECK(one.is_held());
  REQUIRE(other.share(0ms));
  CHECK(library.try_lock(LOCK_SH));
  library.unlock();
  CHECK_FALSE(library.try_lock(LOCK_EX));
  const auto refused = given.lock().own(30ms);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().sys == EBUSY);
  CHECK(refused.error().value == ::getpid());
  const auto at_once = given.lock().own(0ms);
  REQUIRE_FALSE(at_once);
  CHECK_FALSE(at_once.error().value);  // nothing is searched for without a wait
  one.release();
  CHECK_FALSE(library.try_lock(LOCK_EX));
  other.release();

  REQUIRE(one.own(0ms));
  CHECK_FALSE(library.try_lock(LOCK_SH));
  const auto shared = other.share(30ms);
  REQUIRE_FALSE(shared);
  CHECK(shared.error().sys == EBUSY);
  CHECK_FALSE(other.is_held());
  one.release();
  CHECK(library.try_lock(LOCK_EX));
  CHECK_FALSE(one.own(0ms));
  library.unlock();
  // A destroyed lock is released.
  {
    REQUIRE(given.lock().own(0ms));
  }
  CHECK(library.try_lock(LOCK_EX));
}

TEST_CASE("blosc2_lock: a writer advances the counter before its change, a reader reads it",
          "[fs][blosc2_lock][unit]") {
  const Locked given;
  const Library library(given.file);
  auto lock = given.lock();
  REQUIRE(lock.share(0ms));
  CHECK(lock.counter().value == 0);
  CHECK(library.size() == 0);
  for (std::uint64_t expected = 0; expected < 3; ++expected) {
    REQUIRE(lock.own(0ms));
    CHECK(lock.counter().value == expected);
    CHECK(library.counter() == expected + 1);
    lock.release();
  }
  library.set_counter(std::uint64_t{1} << 40);
  REQUIRE(lock.share(0ms));
  CHECK(lock.counter().value == std::uint64_t{1} << 40);
  CHECK(lock.peek().value == std::uint64_t{1} << 40);
  CHECK(library.size() == 16);
}

TEST_CASE("blosc2_lock: a reader needs no right to write, a writer does",
          "[fs][blosc2_lock][unit]") {
  const Locked given;
  const Library library(given.file);
  // Root may write to files of any mode, so the opener refuses as the system would.
  const auto open = [&](int flags) -> Blosc2Lock::Opened {
    if ((flags & O_ACCMODE) != O_RDONLY) return {given.file, system_error_of(EACCES, "open")};
    return lock_file_opener(*Place::given(given.frame), false)(flags);
  };
  Blosc2Lock lock(open);
  REQUIRE(lock.share(0ms));
  CHECK(lock.is_held());
  lock.release();
  const auto refused = lock.own(0ms);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().sys == EACCES);
  CHECK(library.try_lock(LOCK_EX));
}

TEST_CASE("blosc2_lock: a symbolic link locks nothing", "[fs][blosc2_lock][unit]") {
  const Locked given;
  given.folder.write("elsewhere", std::span<const std::byte>());
  stdfs::create_symlink("elsewhere", given.file);
  auto lock = given.lock();
  CHECK(lock.share(0ms));
  CHECK_FALSE(lock.is_held());
  CHECK(lock.own(0ms));
  CHECK_FALSE(lock.is_held());
}

TEST_CASE("blosc2_lock: a file that is no lock file is neither locked nor changed",
          "[fs][blosc2_lock][unit]") {
  using namespace std::string_literals;
  const Locked given;
  const auto content =
      GENERATE("short"s, "root's 16 bytes."s, "seven\0\0\0\0\0\0\0\0\0\0\0"s, std::string(17, '\0'),
               std::string(8, '\0'), std::string(1 << 20, '\0'));
  CAPTURE(content.size());
  given.folder.write(given.file, content);
  auto lock = given.lock();
  for (const auto& taken : {lock.share(0ms), lock.own(0ms)}) {
    REQUIRE_FALSE(taken);
    CHECK(taken.error().sys == EIO);
    CHECK_FALSE(lock.is_held());
  }
  CHECK(lock.peek().value == 0);
  CHECK(Library(given.file).try_lock(LOCK_EX));
  CHECK(stdfs::file_size(given.file) == content.size());
  CHECK(test::read_file(given.file) == content);
}

TEST_CASE("blosc2_lock: what is no regular file is no lock file", "[fs][blosc2_lock][unit]") {
  const Locked given;
  if (GENERATE(false, true)) {
    stdfs::create_directory(given.file);
  } else {
    REQUIRE(::mkfifo(given.file.c_str(), 0600) == 0);
  }
  auto lock = given.lock();
  for (const auto& taken : {lock.share(0ms), lock.own(0ms)}) {
    REQUIRE_FALSE(taken);
    CHECK(taken.error().sys == EIO);
    CHECK_FALSE(lock.is_held());
  }
}

TEST_CASE("blosc2_lock: a lock file with another link is read and not written",
          "[fs][blosc2_lock][unit]") {
  const Locked given;
  const auto other = given.folder.write("other", std::string(16, '\0'));
  stdfs::create_hard_link(other, given.file);
  auto lock = given.lock();
  CHECK(lock.share(0ms));
  CHECK(lock.is_held());
  lock.release();
  const auto owned = lock.own(0ms);
  REQUIRE_FALSE(owned);
  CHECK(owned.error().sys == EIO);
  CHECK(test::read_file(other) == std::string(16, '\0'));
}

TEST_CASE("blosc2_lock: a wait ends when the caller gives up or does not need the lock",
          "[fs][blosc2_lock][unit]") {
  const Locked given;
  const Library library(given.file);
  REQUIRE(library.try_lock(LOCK_EX));
  auto lock = given.lock();
  {
    const InterruptScope scope([] { return true; });
    const auto interrupted = lock.share(kPatience);
    REQUIRE_FALSE(interrupted);
    CHECK(interrupted.error().sys == EINTR);
    CHECK_FALSE(lock.own(kPatience));
  }
  int asked = 0;
  CHECK(lock.share(kPatience, [&] { return ++asked == 3; }));
  CHECK(asked == 3);
  CHECK_FALSE(lock.is_held());
}

TEST_CASE("blosc2_lock: a lock file that is replaced during the wait is not the one that is locked",
          "[fs][blosc2_lock][race]") {
  const Locked given;
  auto first = std::make_unique<Library>(given.file);
  REQUIRE(first->try_lock(LOCK_EX));
  Status owned;
  auto lock = given.lock();
  {
    std::jthread waiting([&] { owned = lock.own(kPatience); });
    const auto next = given.folder.path() / "next";
    Library(next).set_counter(7);
    stdfs::rename(next, given.file);
    first = nullptr;
  }
  REQUIRE(owned);
  REQUIRE(lock.is_held());
  const Library now(given.file);
  CHECK_FALSE(now.try_lock(LOCK_SH));
  CHECK(now.counter() == lock.counter().value + 1);
}

TEST_CASE("blosc2_lock: only the counters of one lock file can be compared",
          "[fs][blosc2_lock][unit]") {
  const FileKey file{1, 10};
  const LockCounter before{.path = "x.b2lock", .file = file, .value = 3};
  const LockCounter none{.path = "x.b2lock", .file = {}};
  const auto tells = [&](const LockCounter& known, const char* path, FileKey found,
                         std::uint64_t value) {
    return LockCounter{.path = path, .file = found, .value = value}.tells_change_since(known);
  };
  CHECK_FALSE(tells(before, "x.b2lock", file, 3));
  CHECK(tells(before, "x.b2lock", file, 4));
  CHECK(tells(before, "renamed.b2lock", file, 4));
  CHECK_FALSE(tells(before, "x.b2lock", {1, 11}, 4));
  // A lock file that appears counts from 0.
  CHECK_FALSE(tells(none, "x.b2lock", file, 0));
  CHECK(tells(none, "x.b2lock", file, 1));
  CHECK_FALSE(tells(none, "y.b2lock", file, 1));
  CHECK_FALSE(tells({}, "y.b2lock", file, 1));
}

TEST_CASE("frame_ownership: a session has the lock file from its first change to the commit",
          "[fs][frame_ownership][unit]") {
  WrittenFrame given(GENERATE(false, true));
  const Library library(given.lock_file);
  const auto session = given.open();
  CHECK(library.try_lock(LOCK_EX));
  const auto refused = session->begin_change(0ms);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().sys == EBUSY);
  CHECK_FALSE(session->is_lost());
  library.unlock();
  {
    const auto change = session->begin_change(0ms);
    REQUIRE(change);
    CHECK(library.counter() == 1);
    CHECK_FALSE(library.try_lock(LOCK_SH));
    write_all(*session, content_of('a', 5000));
  }
  CHECK_FALSE(library.try_lock(LOCK_SH));
  REQUIRE(session->flush());
  CHECK_FALSE(library.try_lock(LOCK_SH));
  REQUIRE(session->commit(false));
  CHECK(library.try_lock(LOCK_EX));
  CHECK(library.counter() == 1);
  library.unlock();
  // The session knows its own change.
  CHECK(session->begin_change(0ms));
  CHECK(test::read_stored(given.path) == content_of('a', 5000));
}

TEST_CASE("frame_ownership: a new counter means that the frame was changed",
          "[fs][frame_ownership][unit]") {
  WrittenFrame given(GENERATE(false, true));
  const Library library(given.lock_file);
  const auto session = given.open();
  // The change does not show in the file itself.
  library.set_counter(1);
  std::unique_ptr<FrameOwnership> ownership;
  const auto refused = session->begin_change(0ms, &ownership);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().sys == EIO);
  CHECK(session->is_lost());
  CHECK_FALSE(session->has_uncommitted());
  // The successor owns the frame while it is opened.
  REQUIRE(ownership);
  CHECK_FALSE(library.try_lock(LOCK_SH));
  const auto next = given.open();
  given.mount.change_opening = [&](FrameWriteSession::Opening& opening) {
    opening.ownership = std::move(ownership);
  };
  const auto successor = given.mount.open(given.path);
  const auto change = successor->begin_change(0ms);
  CHECK(change);
  CHECK_FALSE(next->begin_change(0ms));
}

TEST_CASE("frame_ownership: a reader's counter ends a session that has nothing to commit",
          "[fs][frame_ownership][unit]") {
  WrittenFrame given(false);
  const Library library(given.lock_file);
  const auto session = given.open();
  session->note_counter(counted(given.lock_file, 0));
  CHECK_FALSE(session->is_lost());
  {
    const auto change = session->begin_change(0ms);
    REQUIRE(change);
    CHECK(session->is_owned());
    session->note_counter(counted(given.lock_file, 17));
    CHECK_FALSE(session->is_lost());
  }
  CHECK_FALSE(session->is_owned());
  session->note_counter(counted(given.lock_file, 1));
  CHECK_FALSE(session->is_lost());
  session->note_counter(counted(given.lock_file, 2));
  CHECK(session->is_lost());
}

TEST_CASE("frame_ownership: a lock file that appears before the commit is respected",
          "[fs][frame_ownership][unit]") {
  WrittenFrame given(GENERATE(false, true));
  const bool is_changed = GENERATE(false, true);
  const auto session = given.open();
  const auto change = session->begin_change(0ms);
  REQUIRE(change);
  write_all(*session, content_of('b', 3000));
  const Library library(given.lock_file);
  REQUIRE(library.try_lock(LOCK_EX));
  const auto refused = session->commit(false);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().sys == EBUSY);
  if (is_changed) library.set_counter(1);
  library.unlock();
  const auto committed = session->commit(false);
  CHECK(committed.has_value() != is_changed);
  CHECK(session->is_lost() == is_changed);
  if (!is_changed) {
    CHECK(test::read_stored(given.path) == content_of('b', 3000));
    CHECK(library.counter() == 1);
  }
}

TEST_CASE("frame_ownership: a frame that another program replaced or removed is not written",
          "[fs][frame_ownership][unit]") {
  WrittenFrame given(false);
  const bool is_expected = GENERATE(false, true);
  const bool is_replaced = GENERATE(false, true);
  const auto session = given.open();
  const auto change = session->begin_change(0ms);
  REQUIRE(change);
  write_all(*session, content_of('c', 3000));
  if (is_expected) session->expect_removal();
  if (is_replaced) {
    const auto next = given.folder.path() / "next";
    given.mount.create(next, {.encode = {}, .chunksize = 1000}, false);
    stdfs::rename(next, given.path);
  } else {
    stdfs::remove(given.path);
  }
  const auto committed = session->commit(true);
  CHECK(committed.has_value() == is_expected);
  CHECK(session->begin_change(0ms).has_value() == is_expected);
  CHECK_FALSE(session->is_lost());  // its readers go on
  CHECK_FALSE(session->has_uncommitted());
  if (is_replaced) CHECK(test::read_stored(given.path).empty());
}

TEST_CASE("frame_ownership: a lock file that was there before a new frame does not stop its writer",
          "[fs][frame_ownership][unit]") {
  Mount mount;
  const Library library(mount.path("x.b2frame.b2lock"));
  library.set_counter(7);
  const auto created = mount.fs().names().create_file(kRootNode, "x", 0640, O_RDWR, {});
  REQUIRE(created);
  auto& file = *created->opened.file;
  REQUIRE(mount.fs().changes().write(file, 0, content_of('e', 5000)));
  CHECK_FALSE(library.try_lock(LOCK_SH));
  CHECK(library.counter() > 7);
  REQUIRE(mount.fs().changes().sync(file, false));
  CHECK(library.try_lock(LOCK_EX));
  library.unlock();
  mount.fs().contents().close(file);
  CHECK(test::read_stored(mount.path("x.b2frame")) == content_of('e', 5000));
}

TEST_CASE("lock_files: a reader drops what it knows when the counter is new",
          "[fs][lock_files][unit]") {
  Mount mount;
  const auto before = test::small_frame(3000, 1);
  const auto after = test::small_frame(3000, 2);
  REQUIRE(before.size() == after.size());
  mount.write("x.b2", before);
  const Library library(mount.path("x.b2.b2lock"));
  const auto node = mount.lookup("x").id;
  const auto opened = mount.open(node);
  CHECK(mount.read(*opened.file, 0, 10000).value() == test::noise(3000, 1));
  // The file is rewritten within the granularity of its times.
  const auto st = mount.stat("x.b2");
  {
    const UniqueFd fd(::open(mount.path("x.b2").c_str(), O_WRONLY | O_CLOEXEC));
    REQUIRE(write_fully(fd.get(), 0, after));
  }
  const timespec times[] = {st.st_atim, st.st_mtim};
  REQUIRE(::utimensat(AT_FDCWD, mount.path("x.b2").c_str(), times, 0) == 0);
  library.set_counter(1);
  CHECK(mount.read(*opened.file, 0, 10000).value() == test::noise(3000, 2));
  mount.fs().contents().close(*opened.file);
}

TEST_CASE("lock_files: a reader waits for a writer, but not for a session of its own mount",
          "[fs][lock_files][race]") {
  Mount mount;
  mount.write("x.b2", test::small_frame(3000, 1));
  const Library library(mount.path("x.b2.b2lock"));
  const auto node = mount.lookup("x").id;
  const auto opened = mount.open(node);
  REQUIRE(library.try_lock(LOCK_EX));
  Result<test::Bytes> bytes;
  std::atomic<int> asked{0};  // by the reader that waits
  {
    std::jthread reader([&] {
      const InterruptScope scope([&] {
        ++asked;
        return false;
      });
      bytes = mount.read(*opened.file, 0, 10000);
    });
    while (asked < 2) std::this_thread::yield();
    library.unlock();
  }
  CHECK(bytes.value() == test::noise(3000, 1));

  auto written = mount.fs().contents().open(node, O_RDWR);
  REQUIRE(written);
  const auto change = content_of('d', 10);
  REQUIRE(mount.fs().changes().write(*written->file, 0, change));
  CHECK_FALSE(library.try_lock(LOCK_SH));
  auto expected = test::noise(3000, 1);
  std::ranges::copy(change, expected.begin());
  CHECK(mount.read(*opened.file, 0, 10000).value() == expected);
  REQUIRE(mount.fs().changes().sync(*written->file, false));
  CHECK(library.try_lock(LOCK_SH));
  library.unlock();
  mount.fs().contents().close(*opened.file);
  mount.fs().contents().close(*written->file);
}

TEST_CASE("lock_files: a lock file is looked for again when the frame has changed",
          "[fs][lock_files][unit]") {
  Mount mount;
  mount.write("x.b2", test::small_frame(3000, 1));
  const auto node = mount.lookup("x").id;
  const auto opened = mount.open(node);
  CHECK(mount.read(*opened.file, 0, 10000).value() == test::noise(3000, 1));
  mount.write("x.b2", test::small_frame(3000, 2));
  const Library library(mount.path("x.b2.b2lock"));
  REQUIRE(library.try_lock(LOCK_EX));
  const InterruptScope scope([] { return true; });
  const auto interrupted = mount.read(*opened.file, 0, 10000);
  REQUIRE_FALSE(interrupted);
  CHECK(interrupted.error().sys == EINTR);
  library.unlock();
  CHECK(mount.read(*opened.file, 0, 10000).value() == test::noise(3000, 2));
  mount.fs().contents().close(*opened.file);
}

TEST_CASE("lock_files: a rename over a frame waits for the program that changes it",
          "[fs][lock_files][unit]") {
  Mount mount;
  mount.write("x.b2", test::small_frame(3000, 1));
  mount.write("y.b2", test::small_frame(3000, 2));
  const Library library(mount.path("x.b2.b2lock"));
  const Library others(mount.path("y.b2.b2lock"));
  mount.lookup("x");
  mount.lookup("y");
  REQUIRE(library.try_lock(LOCK_EX));
  {
    const InterruptScope scope([] { return true; });
    const auto refused = mount.fs().names().rename(kRootNode, "y", kRootNode, "x", 0);
    REQUIRE_FALSE(refused);
    CHECK(refused.error().sys == EINTR);
  }
  CHECK(mount.names() == std::vector<std::string>{"x", "y"});
  library.unlock();
  REQUIRE(mount.fs().names().rename(kRootNode, "y", kRootNode, "x", 0));
  CHECK(mount.read_all("x") == test::noise(3000, 2));
  // Programs with the library that have the replaced frame open still use its lock file.
  CHECK(library.counter() == 1);
  const Library now(mount.path("x.b2.b2lock"));
  CHECK(now.counter() == 1);
  CHECK_FALSE(stdfs::exists(mount.path("y.b2.b2lock")));
}

}  // namespace framefs::fs::blosc2_lock_test
