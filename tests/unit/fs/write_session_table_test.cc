#include "fs/write/write_session_table.h"

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

namespace framefs::fs::write_session_table_test {
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

// New frames that are written through a table.  By default, the table's commit interval is too long
// to elapse.
class Written {
 public:
  explicit Written(std::uint64_t overlay_bytes = 64u << 20) : mount_(overlay_bytes) {}
  std::unique_ptr<WriteSessionTable> make_table(std::chrono::milliseconds interval = 1h) {
    return std::make_unique<WriteSessionTable>(
        log_.log(), mount_.overlay(), interval,
        [this](const FileKey&, const FileIdentity&) { ++ended_; },
        [this](const auto&...) { on_ending(); });
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
  WriteSessionTable::Session join(WriteSessionTable& table, const stdfs::path& path) {
    const auto session = table.open(
        key_of(path), [&] { return Result<WriteSessionTable::Session>(mount_.open(path)); });
    REQUIRE(session);
    return *session;
  }
  stdfs::path write(WriteSessionTable& table, const std::string& name, const Bytes& bytes) {
    const auto path = create(name);
    const FrameWriteSession::Piece piece{0, bytes};
    REQUIRE(join(table, path)->write(std::span(&piece, 1)));
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

  // Called when a session is about to end.
  std::function<void()> on_ending = [] {};

 private:
  test::TempDirectory folder_;
  test::TestLog log_;
  test::WriteMount mount_;
  std::atomic<std::size_t> ended_{0};
};

TEST_CASE("write_session_table: closed frames are committed without a request",
          "[fs][write_session_table][race]") {
  // One frame; several frames; more frames than are committed together.
  for (const std::size_t count : {1U, 7U, 600U}) {
    CAPTURE(count);
    Written files;
    const auto table = files.make_table();
    std::vector<stdfs::path> paths;
    for (std::size_t i = 0; i < count; ++i) {
      paths.push_back(files.write(*table, std::to_string(i), Bytes(10 + i, std::byte(i))));
      table->close(key_of(paths.back()), table->find(key_of(paths.back())));
    }
    CHECK(files.end(count));
    for (std::size_t i = 0; i < count; ++i) {
      CHECK(test::read_stored(paths[i]) == Bytes(10 + i, std::byte(i)));
      CHECK(table->find(key_of(paths[i])) == nullptr);
    }
    CHECK(files.lines().empty());
  }
}

// Oracle: the number of calls.  A session that begins or ends during a call causes one more call.
TEST_CASE("write_session_table: observe() runs again if a session began or ended meanwhile",
          "[fs][write_session_table][race]") {
  Written files;
  const auto table = files.make_table();
  const auto seen_of = [&](const FileKey& key, const std::function<void()>& meanwhile) {
    std::vector<bool> written;  // one entry for each call
    const auto last = table->observe(key, [&](const WriteSessionTable::Session& session) {
      written.push_back(session != nullptr);
      if (written.size() == 1) meanwhile();
      return session;
    });
    CHECK((last != nullptr) == written.back());
    return written;
  };
  using Seen = std::vector<bool>;
  const FileKey unknown{1, 2};
  CHECK(seen_of(unknown, [] {}) == Seen{false});

  const auto path = files.create("x");
  const auto key = key_of(path);
  CHECK(seen_of(key, [&] { files.join(*table, path); }) == Seen{false, true});
  CHECK(seen_of(key, [] {}) == Seen{true});
  // A second writer of the same session changes nothing.
  CHECK(seen_of(key, [&] { files.join(*table, path); }) == Seen{true});
  CHECK(seen_of(key, [&] { table->close(key, table->find(key)); }) == Seen{true});
  const auto end = [&] {
    table->close(key, table->find(key));
    CHECK(files.end(1));
  };
  CHECK(seen_of(key, end) == Seen{true, false});
  // A session began and ended during the call, so what the call found in SOURCE may be outdated.
  const auto begin_and_end = [&] {
    files.join(*table, path);
    table->close(key, table->find(key));
    CHECK(files.end(2));
  };
  CHECK(seen_of(key, begin_and_end) == Seen{false, false});
}

// The syncs of many closed frames take as long as the test.
TEST_CASE("write_session_table: no fsync waits for the syncs of other frames",
          "[fs][write_session_table][race]") {
  constexpr std::size_t kClosed = 70;
  Gate gate;
  Written files;
  auto table = files.make_table();
  const std::function<void()> pass = [&] { gate.pass(); };
  files.watch_syncs(pass);
  for (std::size_t i = 0; i < kClosed; ++i) {
    const auto path = files.write(*table, std::to_string(i), Bytes(10, std::byte(i)));
    table->close(key_of(path), table->find(key_of(path)));
  }
  REQUIRE(test::comes_true([&] { return gate.has_waiting(); }));
  const std::function<void()> nothing = [] {};
  files.watch_syncs(nothing);
  const auto path = files.write(*table, "synced", Bytes(10));
  bool is_synced = false;
  test::finish_in_time("fsync",
                       [&] { is_synced = table->find(key_of(path))->commit(true).has_value(); });
  gate.open();
  CHECK(is_synced);
  CHECK(files.end(kClosed));
  table->close(key_of(path), table->find(key_of(path)));
}

TEST_CASE("write_session_table: a full disk is remembered until a commit has succeeded",
          "[fs][write_session_table][unit]") {
  bool is_full = false;
  Written files;
  auto table = files.make_table();
  files.fill_disk(is_full);
  const auto path = files.write(*table, "x", Bytes(10));
  const auto session = table->find(key_of(path));
  CHECK(session->check_space());
  is_full = true;
  CHECK_FALSE(session->commit(false));  // as at the commit interval
  // Nothing is left to store, but the bytes are not in SOURCE.
  CHECK(session->flush());
  const auto checked = session->check_space();
  REQUIRE_FALSE(checked);
  CHECK(checked.error().kind == Errc::no_space);
  CHECK(table->commit_all().names().size() == 1);
  is_full = false;
  CHECK(session->check_space());
  CHECK(table->commit_all().is_empty());
  CHECK(test::read_stored(path) == Bytes(10));
}

TEST_CASE("write_session_table: names the files whose bytes the end of the mount has lost",
          "[fs][write_session_table][unit]") {
  bool is_full = false;
  Written files;
  auto table = files.make_table();
  files.fill_disk(is_full);
  files.write(*table, "x", Bytes(10));
  is_full = GENERATE(false, true);
  const auto committed = table->finish();
  CHECK(committed.size() == (is_full ? 0 : 1));
  CHECK(table->losses().is_empty() == !is_full);
}

// The stores of one frame take as long as the test.  Oracle: the other frame is committed
// meanwhile.
TEST_CASE("write_session_table: no commit waits for the stores of another frame",
          "[fs][write_session_table][race]") {
  const bool is_large = GENERATE(true, false);
  const bool is_closed = GENERATE(true, false);
  CAPTURE(is_large, is_closed);
  Gate gate;
  Written files;
  auto table = files.make_table(is_closed ? std::chrono::milliseconds(1h) : 20ms);
  const auto close = [&](const stdfs::path& path) {
    if (is_closed) table->close(key_of(path), table->find(key_of(path)));
  };
  files.gate_stores(&gate);
  const auto slow_bytes = noise(is_large ? 3u << 20 : 500);
  const auto slow = files.write(*table, "slow", slow_bytes);
  files.gate_stores(nullptr);
  std::jthread flusher;
  if (!is_large) {
    // The commit of a small frame waits for a thread that stores it already.
    flusher = std::jthread(
        [session = table->find(key_of(slow))] { static_cast<void>(session->flush()); });
    REQUIRE(test::comes_true([&] { return gate.has_waiting(); }));
  }
  close(slow);
  if (is_large) REQUIRE(test::comes_true([&] { return gate.has_waiting(); }));
  const auto fast_bytes = noise(700);
  const auto fast = files.write(*table, "fast", fast_bytes);
  close(fast);
  const bool is_committed = test::comes_true(
      [&] { return stdfs::file_size(fast) > 700 && test::read_stored(fast) == fast_bytes; });
  const bool was_waiting = test::read_stored(slow).empty();
  gate.open();
  CHECK(is_committed);
  CHECK(was_waiting);
  table.reset();
  CHECK(test::read_stored(slow) == slow_bytes);
  CHECK(files.lines().empty());
}

// The index of one frame takes the room that the index of another one needs, until a thread that
// closes the frame, or ends its session, goes on.  Oracle: the writer of the other frame gets no
// ENOMEM.
class IndexRace {
 public:
  // Syncs of the frame call on_sync(), unless it is null, and ends of sessions call on_ending().
  explicit IndexRace(
      std::function<void()> on_sync = nullptr, std::function<void()> on_ending = [] {})
      : on_sync_(std::move(on_sync)), table_(files_.make_table()) {
    files_.on_ending = std::move(on_ending);
    if (on_sync_) files_.watch_syncs(on_sync_);
    closed_ = files_.create("closed");
    session_ = files_.join(*table_, closed_);
    REQUIRE(session_->truncate(kLong));
  }
  void close() { table_->close(key_of(closed_), session_); }
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
  [[nodiscard]] bool has_ended() const { return table_->find(key_of(closed_)) == nullptr; }

  // Lengthens the other frame.  Calls go_on() as soon as the writer has failed twice, or has failed
  // once and waits.
  Status grow_another(const std::function<void()>& go_on) {
    constexpr auto kSoon = 200ms;
    files_.watch_syncs(kNothing);
    const auto session = files_.join(*table_, files_.create("another"));
    std::atomic<int> failures{0};
    std::atomic<bool> has_room{false};
    const std::jthread other([&] {
      static_cast<void>(test::comes_true([&] { return failures > 0 || has_room; }));
      const auto end = std::chrono::steady_clock::now() + kSoon;
      while (failures == 1 && std::chrono::steady_clock::now() < end) std::this_thread::yield();
      go_on();
    });
    return table_->with_index_room([&] {
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
  Written files_{kOverlay};
  std::unique_ptr<WriteSessionTable> table_;
  stdfs::path closed_;
  WriteSessionTable::Session session_;
};

TEST_CASE("write_session_table: a lack of index room waits for a commit",
          "[fs][write_session_table][race]") {
  Gate gate;
  IndexRace race([&] { gate.pass(); });
  race.close();
  REQUIRE(test::comes_true([&] { return gate.has_waiting(); }));
  CHECK(race.grow_another([&] { gate.open(); }));
}

// The thread that ends the session waits for a reader before it can give the room back.
TEST_CASE("write_session_table: a lack of index room waits for the end of a session",
          "[fs][write_session_table][race]") {
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

TEST_CASE("write_session_table: a frame changed elsewhere gives its index room back",
          "[fs][write_session_table][unit]") {
  IndexRace race;
  race.change_elsewhere();
  race.look();
  CHECK(race.session().is_superseded());
  CHECK(race.grow_another([] {}));
  race.close();
}

TEST_CASE("write_session_table: a lack of index room waits for the loss of a session",
          "[fs][write_session_table][race]") {
  IndexRace race;
  race.change_elsewhere();
  CHECK(race.grow_another([&] { race.look(); }));
  race.close();
}

// The kernel answers close(2) before the daemon knows of it.
TEST_CASE("write_session_table: a lack of index room waits for a close under way",
          "[fs][write_session_table][race]") {
  IndexRace race;
  CHECK(race.grow_another([&] { race.close(); }));
  CHECK(race.lines().empty());  // an attempt that is repeated is no failure
}

TEST_CASE("write_session_table: a lack of index room does not wait for ever",
          "[fs][write_session_table][unit]") {
  IndexRace race;
  const auto grown = race.grow_another([] {});
  REQUIRE_FALSE(grown);
  CHECK(grown.error().sys == ENOMEM);
  CHECK(race.lines().size() == 1);
  race.close();
}

// The session of a frame that is about to be compacted is not needed by anybody else.  If it ended,
// the next session would meet changes of a program that it does not know: those of the compaction.
TEST_CASE("write_session_table: a session does not end before its compaction",
          "[fs][write_session_table][race]") {
  Written files;
  const auto table = files.make_table();
  Gate gate;
  files.gate_ownership(gate);
  const auto path = files.write(*table, "x", noise(300'000));
  const auto key = key_of(path);
  const auto first = table->find(key);
  REQUIRE(first->commit(false));
  REQUIRE(first->truncate(1000));  // leaves dead space
  REQUIRE(first->commit(false));
  table->close(key, first);
  REQUIRE(test::comes_true([&] { return gate.has_waiting(); }));
  // A thread that needs memory for an index ends the sessions of closed files.
  bool has_room = false;
  CHECK(table->with_index_room(
      [&] { return std::exchange(has_room, true) ? Status() : system_error_of(ENOMEM, "index"); }));
  const auto next = files.join(*table, path);
  gate.open();
  CHECK(next->begin_change());
  CHECK_FALSE(next->is_superseded());
  table->close(key, next);
}

TEST_CASE("write_session_table: its end commits frames that are open or were just closed",
          "[fs][write_session_table][race]") {
  Written written;
  auto table = written.make_table();
  std::vector<stdfs::path> paths;
  for (std::size_t i = 0; i < 20; ++i) {
    paths.push_back(written.write(*table, std::to_string(i), Bytes(2000 + i, std::byte(i))));
    if (i % 2 == 0) table->close(key_of(paths.back()), table->find(key_of(paths.back())));
  }
  table.reset();
  for (std::size_t i = 0; i < paths.size(); ++i) {
    CHECK(test::read_stored(paths[i]) == Bytes(2000 + i, std::byte(i)));
  }
  CHECK(written.lines().empty());
}

TEST_CASE("write_session_table: a file that is written is not taken away from its writers",
          "[fs][write_session_table][unit]") {
  Written written;
  const auto table = written.make_table();
  const auto path = written.write(*table, "a", noise(500));
  const auto key = key_of(path);
  int runs = 0;
  const auto body = [&]() -> Status {
    ++runs;
    return {};
  };
  const auto refused = table->without_session(key, body);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().sys == EBUSY);
  CHECK(runs == 0);
  table->close(key, table->find(key));
  REQUIRE(written.end(1));
  CHECK(table->without_session(key, body));
  CHECK(runs == 1);
}

TEST_CASE("write_session_table: its end commits the files and names them",
          "[fs][write_session_table][unit]") {
  Written written;
  const auto table = written.make_table();
  const auto bytes = noise(2500);
  const auto path = written.write(*table, "a", bytes);
  const auto committed = table->finish();
  CHECK(committed == std::vector{key_of(path)});
  CHECK(std::ranges::equal(test::read_stored(path), bytes));
  CHECK_FALSE(table->find(key_of(path)));
  CHECK(table->finish().empty());
}

}  // namespace
}  // namespace framefs::fs::write_session_table_test
