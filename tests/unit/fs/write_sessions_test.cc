#include "fs/write/write_sessions.h"

#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/support/catch.h"
#include "tests/support/temp_directory.h"
#include "tests/support/threads.h"
#include "tests/unit/fs/forwarding_backend.h"
#include "tests/unit/fs/write_mount.h"

namespace framefs::fs::write_sessions_test {
namespace {

namespace stdfs = std::filesystem;
using test::Bytes;
using namespace std::chrono_literals;

FileKey key_of(const stdfs::path& path) {
  struct stat st{};
  REQUIRE(::stat(path.c_str(), &st) == 0);
  return file_key(st);
}

// While it is closed, stores wait.
class Gate {
 public:
  void open() {
    is_open_.with_and_wake([](bool& is_open) { is_open = true; });
  }
  void pass() {
    ++waiting_;
    is_open_.wait([](bool is_open) { return is_open; }, [](bool) {});
  }
  [[nodiscard]] bool has_waiting() const { return waiting_ > 0; }

 private:
  Guarded<bool> is_open_{std::in_place, false};
  std::atomic<int> waiting_{0};
};

class GatedStores final : public test::ForwardingBackend {
 public:
  GatedStores(std::unique_ptr<FrameBackend> backend, Gate& gate)
      : ForwardingBackend(std::move(backend)), gate_(gate) {}
  Result<std::int64_t> write_chunk(std::span<const std::byte> chunk) override {
    gate_.pass();
    return ForwardingBackend::write_chunk(chunk);
  }

 private:
  Gate& gate_;
};

// The first thread that takes the ownership of the frame waits at the gate.
class GatedOwnership final : public test::ForwardingBackend {
 public:
  GatedOwnership(std::unique_ptr<FrameBackend> backend, Gate& gate)
      : ForwardingBackend(std::move(backend)), gate_(gate) {}
  Status begin_writing() override {
    gate_.pass();
    return {};
  }

 private:
  Gate& gate_;
};

// Calls on_ending() before the session of the frame ends.
class WatchedEnd final : public test::ForwardingBackend {
 public:
  WatchedEnd(std::unique_ptr<FrameBackend> backend, const std::function<void()>& on_ending)
      : ForwardingBackend(std::move(backend)), on_ending_(on_ending) {}
  void release_old_states() override {
    on_ending_();
    ForwardingBackend::release_old_states();
  }

 private:
  const std::function<void()>& on_ending_;  // outlives it
};

// SOURCE is full while `is_full` is set: stores and commits fail.
class FullDisk final : public test::ForwardingBackend {
 public:
  FullDisk(std::unique_ptr<FrameBackend> backend, const bool& is_full)
      : ForwardingBackend(std::move(backend)), is_full_(is_full) {}
  Status prepare(const FrameContent& content) override {
    if (is_full_) return codec::fail(Errc::no_space, "write");
    return ForwardingBackend::prepare(content);
  }

 private:
  const bool& is_full_;
};

Bytes noise(std::size_t size) {
  std::mt19937_64 random(1);
  Bytes bytes(size);
  for (auto& byte : bytes) byte = std::byte(random());
  return bytes;
}

// The sessions of a mount, and their table.
struct Writes {
  Writes(Log& log, OverlayBudget& overlay, std::chrono::milliseconds interval,
         WriteSessionTable::OnEnd on_end)
      : table(log, ctimes, std::move(on_end)), sessions(log, overlay, table, interval) {}
  void close(const FileKey& key) { sessions.close(key, table.find(key)); }

  KeptCtimes ctimes;
  WriteSessionTable table;
  WriteSessions sessions;
};

// New frames that are written.  By default, the commit interval is too long to elapse.
class Written {
 public:
  explicit Written(std::uint64_t overlay_bytes = 64u << 20) : mount_(overlay_bytes) {}
  std::unique_ptr<Writes> make_writes(std::chrono::milliseconds interval = 1h) {
    return std::make_unique<Writes>(log_.log(), mount_.overlay(), interval,
                                    [this](const auto&...) { ++ended_; });
  }
  // The stores of frames that are joined from now on wait at the gate; null: they do not.
  void gate_stores(Gate* gate) {
    mount_.change_opening = [gate](FrameWriteSession::Opening& opening) {
      if (gate == nullptr) return;
      opening.backend = std::make_unique<GatedStores>(std::move(opening.backend), *gate);
    };
  }
  // The ownership of frames that are joined from now on is taken at the gate.
  void gate_ownership(Gate& gate) {
    mount_.change_opening = [&gate](FrameWriteSession::Opening& opening) {
      opening.backend = std::make_unique<GatedOwnership>(std::move(opening.backend), gate);
    };
  }
  // The sessions of frames that are joined from now on call on_ending() when they are about to end.
  void watch_ends(const std::function<void()>& on_ending) {
    mount_.change_opening = [&on_ending](FrameWriteSession::Opening& opening) {
      opening.backend = std::make_unique<WatchedEnd>(std::move(opening.backend), on_ending);
    };
  }
  // The syncs of frames that are joined from now on call on_sync().
  void watch_syncs(const std::function<void()>& on_sync) {
    mount_.change_opening = [&on_sync](FrameWriteSession::Opening& opening) {
      opening.backend = std::make_unique<test::WatchedSyncs>(std::move(opening.backend), on_sync);
    };
  }
  // Frames that are joined from now on are on a disk that is full while `is_full` is set.
  void fill_disk(const bool& is_full) {
    mount_.change_opening = [&is_full](FrameWriteSession::Opening& opening) {
      opening.backend = std::make_unique<FullDisk>(std::move(opening.backend), is_full);
    };
  }
  stdfs::path create(const std::string& name) {
    auto path = folder_.path() / name;
    mount_.create(path, {.encode = {}, .chunksize = 1000}, false);
    return path;
  }
  WriteSessions::Session join(Writes& writes, const stdfs::path& path) {
    const auto session = writes.sessions.open(
        key_of(path), [&] { return Result<WriteSessions::Session>(mount_.open(path)); });
    REQUIRE(session);
    return *session;
  }
  stdfs::path write(Writes& writes, const std::string& name, const Bytes& bytes) {
    const auto path = create(name);
    const FrameWriteSession::Piece piece{0, bytes};
    REQUIRE(join(writes, path)->write(std::span(&piece, 1)));
    return path;
  }
  // Waits until `count` sessions have ended.  Returns false after a timeout.
  bool end(std::size_t count) const {
    const auto patience = std::chrono::steady_clock::now() + 30s;
    while (ended_ < count && std::chrono::steady_clock::now() < patience) {
      std::this_thread::sleep_for(1ms);
    }
    return ended_ == count;
  }
  [[nodiscard]] std::vector<std::string> lines() const { return log_.lines(); }
  Log& log() { return log_.log(); }

 private:
  test::TempDirectory folder_;
  test::TestLog log_;
  test::WriteMount mount_;
  std::atomic<std::size_t> ended_{0};
};

TEST_CASE("write_sessions: closed frames are committed without a request",
          "[fs][write_sessions][race]") {
  // One frame; several frames; more frames than are committed together.
  for (const std::size_t count : {1U, 7U, 600U}) {
    CAPTURE(count);
    Written files;
    const auto writes = files.make_writes();
    std::vector<stdfs::path> paths;
    for (std::size_t i = 0; i < count; ++i) {
      paths.push_back(files.write(*writes, std::to_string(i), Bytes(10 + i, std::byte(i))));
      writes->close(key_of(paths.back()));
    }
    CHECK(files.end(count));
    for (std::size_t i = 0; i < count; ++i) {
      CHECK(test::read_stored(paths[i]) == Bytes(10 + i, std::byte(i)));
      CHECK(writes->table.find(key_of(paths[i])) == nullptr);
    }
    CHECK(files.lines().empty());
  }
}

// The syncs of many closed frames take as long as the test.
TEST_CASE("write_sessions: no fsync waits for the syncs of other frames",
          "[fs][write_sessions][race]") {
  constexpr std::size_t kClosed = 70;
  Gate gate;
  Written files;
  auto writes = files.make_writes();
  const std::function<void()> pass = [&] { gate.pass(); };
  files.watch_syncs(pass);
  for (std::size_t i = 0; i < kClosed; ++i) {
    const auto path = files.write(*writes, std::to_string(i), Bytes(10, std::byte(i)));
    writes->close(key_of(path));
  }
  REQUIRE(test::comes_true([&] { return gate.has_waiting(); }));
  const std::function<void()> nothing = [] {};
  files.watch_syncs(nothing);
  const auto path = files.write(*writes, "synced", Bytes(10));
  bool is_synced = false;
  test::finish_in_time(
      "fsync", [&] { is_synced = writes->table.find(key_of(path))->commit(true).has_value(); });
  gate.open();
  CHECK(is_synced);
  CHECK(files.end(kClosed));
  writes->close(key_of(path));
}

TEST_CASE("write_sessions: a full disk is remembered until a commit has succeeded",
          "[fs][write_sessions][unit]") {
  bool is_full = false;
  Written files;
  auto writes = files.make_writes();
  files.fill_disk(is_full);
  const auto path = files.write(*writes, "x", Bytes(10));
  const auto session = writes->table.find(key_of(path));
  CHECK(session->check_space());
  is_full = true;
  CHECK_FALSE(session->commit(false));  // as at the commit interval
  // Nothing is left to store, but the bytes are not in SOURCE.
  CHECK(session->flush());
  const auto checked = session->check_space();
  REQUIRE_FALSE(checked);
  CHECK(checked.error().kind == Errc::no_space);
  CHECK(writes->sessions.commit_all().names().size() == 1);
  is_full = false;
  CHECK(session->check_space());
  CHECK(writes->sessions.commit_all().is_empty());
  CHECK(test::read_stored(path) == Bytes(10));
}

TEST_CASE("write_sessions: names the files whose bytes the end of the mount has lost",
          "[fs][write_sessions][unit]") {
  bool is_full = false;
  Written files;
  auto writes = files.make_writes();
  files.fill_disk(is_full);
  files.write(*writes, "x", Bytes(10));
  is_full = GENERATE(false, true);
  const auto committed = writes->sessions.finish();
  CHECK(committed.size() == (is_full ? 0 : 1));
  CHECK(writes->table.losses().is_empty() == !is_full);
}

// The stores of one frame take as long as the test.  Oracle: the other frame is committed
// meanwhile.
TEST_CASE("write_sessions: no commit waits for the stores of another frame",
          "[fs][write_sessions][race]") {
  const bool is_large = GENERATE(true, false);
  const bool is_closed = GENERATE(true, false);
  CAPTURE(is_large, is_closed);
  Gate gate;
  Written files;
  auto writes = files.make_writes(is_closed ? std::chrono::milliseconds(1h) : 20ms);
  const auto close = [&](const stdfs::path& path) {
    if (is_closed) writes->close(key_of(path));
  };
  files.gate_stores(&gate);
  const auto slow_bytes = noise(is_large ? 3u << 20 : 500);
  const auto slow = files.write(*writes, "slow", slow_bytes);
  files.gate_stores(nullptr);
  std::jthread flusher;
  if (!is_large) {
    // The commit of a small frame waits for a thread that stores it already.
    flusher = std::jthread(
        [session = writes->table.find(key_of(slow))] { static_cast<void>(session->flush()); });
    REQUIRE(test::comes_true([&] { return gate.has_waiting(); }));
  }
  close(slow);
  if (is_large) REQUIRE(test::comes_true([&] { return gate.has_waiting(); }));
  const auto fast_bytes = noise(700);
  const auto fast = files.write(*writes, "fast", fast_bytes);
  close(fast);
  const bool is_committed = test::comes_true(
      [&] { return stdfs::file_size(fast) > 700 && test::read_stored(fast) == fast_bytes; });
  const bool was_waiting = test::read_stored(slow).empty();
  gate.open();
  CHECK(is_committed);
  CHECK(was_waiting);
  writes.reset();
  CHECK(test::read_stored(slow) == slow_bytes);
  CHECK(files.lines().empty());
}

// The index of one frame takes the room that the index of another one needs, until a thread that
// closes the frame, or ends its session, goes on.  Oracle: the writer of the other frame gets no
// ENOMEM.
class IndexRace {
 public:
  // Syncs of the frame call on_sync(), and the end of its session calls on_ending(); either may be
  // null.
  explicit IndexRace(std::function<void()> on_sync = nullptr,
                     std::function<void()> on_ending = nullptr)
      : on_sync_(std::move(on_sync)),
        on_ending_(std::move(on_ending)),
        writes_(files_.make_writes()) {
    if (on_sync_) files_.watch_syncs(on_sync_);
    if (on_ending_) files_.watch_ends(on_ending_);
    closed_ = files_.create("closed");
    session_ = files_.join(*writes_, closed_);
    REQUIRE(session_->truncate(kLong));
  }
  void close() { writes_->sessions.close(key_of(closed_), session_); }
  // Another program changes the frame.  The session does not know it before it looks.
  void change_elsewhere() {
    REQUIRE(session_->commit(false));
    test::WriteMount other;
    const auto session = other.open(closed_);
    REQUIRE(session->truncate(0));
    REQUIRE(session->commit(false));
  }
  void look() { static_cast<void>(session_->check()); }

  [[nodiscard]] std::vector<std::string> lines() const { return files_.lines(); }
  // The session of the frame, which may have ended.
  [[nodiscard]] const FrameWriteSession& session() const { return *session_; }
  [[nodiscard]] bool has_ended() const { return writes_->table.find(key_of(closed_)) == nullptr; }

  // Lengthens the other frame.  Calls go_on() as soon as the writer has failed twice, or has failed
  // once and waits.
  Status grow_another(const std::function<void()>& go_on) {
    constexpr auto kSoon = 200ms;
    files_.watch_syncs(kNothing);
    const auto session = files_.join(*writes_, files_.create("another"));
    std::atomic<int> failures{0};
    std::atomic<bool> has_room{false};
    const std::jthread other([&] {
      static_cast<void>(test::comes_true([&] { return failures > 0 || has_room; }));
      const auto end = std::chrono::steady_clock::now() + kSoon;
      while (failures == 1 && std::chrono::steady_clock::now() < end) std::this_thread::yield();
      go_on();
    });
    return writes_->sessions.with_index_room([&] {
      const auto truncated = session->truncate(kLong);
      if (!truncated) files_.log().failure("another", truncated.error());
      failures += truncated ? 0 : 1;
      has_room = truncated.has_value();
      return truncated;
    });
  }

 private:
  static constexpr std::uint64_t kOverlay = 16u << 20;  // indexes may take 3.5 MiB of it
  static constexpr std::uint64_t kLong = 131'072'000;   // an index of 2 MiB
  static inline const std::function<void()> kNothing = [] {};

  const std::function<void()> on_sync_;
  const std::function<void()> on_ending_;
  Written files_{kOverlay};
  std::unique_ptr<Writes> writes_;
  stdfs::path closed_;
  WriteSessions::Session session_;
};

TEST_CASE("write_sessions: a lack of index room waits for a commit", "[fs][write_sessions][race]") {
  Gate gate;
  IndexRace race([&] { gate.pass(); });
  race.close();
  REQUIRE(test::comes_true([&] { return gate.has_waiting(); }));
  CHECK(race.grow_another([&] { gate.open(); }));
}

// The thread that ends the session waits for a reader before it can give the room back.
TEST_CASE("write_sessions: a lack of index room waits for the end of a session",
          "[fs][write_sessions][race]") {
  Gate reading;
  Gate ending;
  IndexRace race(nullptr, [&] { ending.pass(); });
  race.close();
  REQUIRE(test::comes_true([&] { return ending.has_waiting(); }));
  const std::jthread reader([&] { race.session().reading([&] { reading.pass(); }); });
  REQUIRE(test::comes_true([&] { return reading.has_waiting(); }));
  ending.open();
  REQUIRE(test::comes_true([&] { return race.has_ended(); }));
  CHECK(race.grow_another([&] { reading.open(); }));
}

TEST_CASE("write_sessions: a frame changed elsewhere gives its index room back",
          "[fs][write_sessions][unit]") {
  IndexRace race;
  race.change_elsewhere();
  race.look();
  CHECK(race.session().is_superseded());
  CHECK(race.grow_another([] {}));
  race.close();
}

TEST_CASE("write_sessions: a lack of index room waits for the loss of a session",
          "[fs][write_sessions][race]") {
  IndexRace race;
  race.change_elsewhere();
  CHECK(race.grow_another([&] { race.look(); }));
  race.close();
}

// The kernel answers close(2) before the daemon knows of it.
TEST_CASE("write_sessions: a lack of index room waits for a close under way",
          "[fs][write_sessions][race]") {
  IndexRace race;
  CHECK(race.grow_another([&] { race.close(); }));
  CHECK(race.lines().empty());  // an attempt that is repeated is no failure
}

TEST_CASE("write_sessions: a lack of index room does not wait for ever",
          "[fs][write_sessions][unit]") {
  IndexRace race;
  const auto grown = race.grow_another([] {});
  REQUIRE_FALSE(grown);
  CHECK(grown.error().sys == ENOMEM);
  CHECK(race.lines().size() == 1);
  race.close();
}

// The session of a frame that is about to be compacted is not needed by anybody else.  If it ended,
// the next session would meet changes of a program that it does not know: those of the compaction.
TEST_CASE("write_sessions: a session does not end before its compaction",
          "[fs][write_sessions][race]") {
  Written files;
  const auto writes = files.make_writes();
  Gate gate;
  files.gate_ownership(gate);
  const auto path = files.write(*writes, "x", noise(300'000));
  const auto key = key_of(path);
  const auto first = writes->table.find(key);
  REQUIRE(first->commit(false));
  REQUIRE(first->truncate(1000));  // leaves dead space
  REQUIRE(first->commit(false));
  writes->sessions.close(key, first);
  REQUIRE(test::comes_true([&] { return gate.has_waiting(); }));
  // A thread that needs memory for an index ends the sessions of closed files.
  bool has_room = false;
  CHECK(writes->sessions.with_index_room(
      [&] { return std::exchange(has_room, true) ? Status() : system_error_of(ENOMEM, "index"); }));
  const auto next = files.join(*writes, path);
  gate.open();
  CHECK(next->begin_change());
  CHECK_FALSE(next->is_superseded());
  writes->sessions.close(key, next);
}

TEST_CASE("write_sessions: its end commits frames that are open or were just closed",
          "[fs][write_sessions][race]") {
  Written written;
  auto writes = written.make_writes();
  std::vector<stdfs::path> paths;
  for (std::size_t i = 0; i < 20; ++i) {
    paths.push_back(written.write(*writes, std::to_string(i), Bytes(2000 + i, std::byte(i))));
    if (i % 2 == 0) writes->close(key_of(paths.back()));
  }
  writes.reset();
  for (std::size_t i = 0; i < paths.size(); ++i) {
    CHECK(test::read_stored(paths[i]) == Bytes(2000 + i, std::byte(i)));
  }
  CHECK(written.lines().empty());
}

TEST_CASE("write_sessions: its end commits the files and names them",
          "[fs][write_sessions][unit]") {
  Written written;
  const auto writes = written.make_writes();
  const auto bytes = noise(2500);
  const auto path = written.write(*writes, "a", bytes);
  const auto committed = writes->sessions.finish();
  CHECK(committed == std::vector{key_of(path)});
  CHECK(std::ranges::equal(test::read_stored(path), bytes));
  CHECK_FALSE(writes->table.find(key_of(path)));
  CHECK(writes->sessions.finish().empty());
}

}  // namespace
}  // namespace framefs::fs::write_sessions_test
