#include "fs/write/write_session_table.h"

#include <sys/stat.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/catch.h"
#include "tests/support/temp_directory.h"
#include "tests/unit/fs/write_mount.h"

namespace framefs::fs {
namespace {

namespace stdfs = std::filesystem;
using test::Bytes;
using namespace std::chrono_literals;

FileKey key_of(const stdfs::path& path) {
  struct stat st{};
  REQUIRE(::stat(path.c_str(), &st) == 0);
  return {st.st_dev, st.st_ino};
}

// New frames that are written through a table.  The table's commit interval is too long to elapse.
class Written {
 public:
  std::unique_ptr<WriteSessionTable> make_table() {
    return std::make_unique<WriteSessionTable>(
        log_.log(), 1h, [this](const FileKey&, const FileIdentity&) { ++ended_; });
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

}  // namespace
}  // namespace framefs::fs
