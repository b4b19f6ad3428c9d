#include "fs/write/write_session_table.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <functional>
#include <string>
#include <variant>
#include <vector>

#include "tests/support/catch.h"
#include "tests/support/temp_directory.h"
#include "tests/unit/fs/write_mount.h"
#include "tests/unit/fs/written_file.h"

namespace framefs::fs::write_session_table_test {
namespace {

namespace stdfs = std::filesystem;
using test::Bytes;
using Session = WriteSessionTable::Session;

// A frame, and a table for its session.
class Table {
 public:
  Table() {
    mount_.create(path_, {.encode = {}, .chunksize = 1000}, false);
    struct stat st{};
    REQUIRE(::stat(path_.c_str(), &st) == 0);
    key = file_key(st);
  }
  Session begin() {
    const auto session = table.open(key, [&] { return Result<Session>(mount_.open(path_)); });
    REQUIRE(session);
    return *session;
  }
  bool close() { return table.close(key, table.find(key)); }
  void end() {
    close();
    table.end(key);
  }
  [[nodiscard]] const stdfs::path& path() const { return path_; }
  [[nodiscard]] std::vector<std::string> lines() const { return log_.lines(); }

 private:
  test::TempDirectory folder_;
  const stdfs::path path_ = folder_.path() / "x";
  test::TestLog log_;
  test::WriteMount mount_;

 public:
  FileKey key{};
  KeptCtimes ctimes;
  int ended = 0;
  WriteSessionTable table{log_.log(), ctimes, [this](const auto&...) { ++ended; }};
};

// Oracle: the number of calls.  A session that begins or ends during a call causes one more call.
TEST_CASE("write_session_table: snapshot() runs again if a session began or ended meanwhile",
          "[fs][write_session_table][unit]") {
  Table files;
  const auto seen_of = [&](const FileKey& key, const std::function<void()>& meanwhile) {
    std::vector<bool> written;  // one entry for each call
    const auto last = files.table.snapshot(key, [&](const Session& session) {
      written.push_back(session != nullptr);
      if (written.size() == 1) meanwhile();
      return session;
    });
    CHECK((last != nullptr) == written.back());
    return written;
  };
  using Seen = std::vector<bool>;
  CHECK(seen_of(FileKey{1, 2}, [] {}) == Seen{false});
  CHECK(seen_of(files.key, [&] { files.begin(); }) == Seen{false, true});
  CHECK(seen_of(files.key, [] {}) == Seen{true});
  // A second writer of the same session changes nothing.
  CHECK(seen_of(files.key, [&] { files.begin(); }) == Seen{true});
  CHECK(seen_of(files.key, [&] { files.close(); }) == Seen{true});
  CHECK(seen_of(files.key, [&] { files.end(); }) == Seen{true, false});
  // A session began and ended during the call, so what the call found in SOURCE may be outdated.
  const auto begin_and_end = [&] {
    files.begin();
    files.end();
  };
  CHECK(seen_of(files.key, begin_and_end) == Seen{false, false});
  CHECK(files.ended == 2);
}

TEST_CASE("write_session_table: all writers of a file have one session",
          "[fs][write_session_table][unit]") {
  Table files;
  const auto first = files.begin();
  CHECK(files.begin() == first);
  CHECK(files.table.size() == 1);
  CHECK_FALSE(files.table.closed_at(files.key));
  CHECK_FALSE(files.close());
  files.table.end(files.key);  // the file still has a writer
  CHECK(files.table.find(files.key) == first);
  CHECK(files.close());
  CHECK(files.table.closed_at(files.key));
  files.table.end(files.key);
  CHECK(files.table.is_empty());
  CHECK(files.begin() != first);
}

TEST_CASE("write_session_table: a session stays as long as it has bytes to commit, or is held",
          "[fs][write_session_table][unit]") {
  Table files;
  const auto session = files.begin();
  test::write_at(*session, 0, Bytes(10));
  CHECK_FALSE(files.table.hold_closed(files.key).session);  // the file has a writer
  files.end();
  CHECK(files.table.find(files.key) == session);
  REQUIRE(session->commit(false));
  {
    const auto held = files.table.hold_closed(files.key);
    CHECK(held.session == session);
    files.table.end(files.key);
    CHECK(files.table.find(files.key) == session);
  }
  files.table.end(files.key);
  CHECK_FALSE(files.table.find(files.key));
  CHECK(files.ended == 1);
  CHECK(test::read_stored(files.path()) == Bytes(10));
}

TEST_CASE("write_session_table: a file that is written is not taken away from its writers",
          "[fs][write_session_table][unit]") {
  Table files;
  int runs = 0;
  const auto body = [&]() -> Status {
    ++runs;
    return {};
  };
  files.begin();
  const auto refused = files.table.without_session(files.key, body);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().sys == EBUSY);
  CHECK_FALSE(files.table.without_sessions(body));
  CHECK(runs == 0);
  files.end();
  CHECK(files.table.without_session(files.key, body));
  CHECK(files.table.without_sessions(body));
  CHECK(runs == 2);
  // A session is about to begin.
  static_cast<void>(files.table.open(files.key, [&]() -> Result<Session> {
    const auto later = files.table.without_session(files.key, body);
    REQUIRE_FALSE(later);
    CHECK(later.error().sys == EAGAIN);
    CHECK_FALSE(files.table.without_sessions(body));
    return system_error_of(EIO, "open");
  }));
  CHECK(runs == 2);
}

TEST_CASE("write_session_table: a loss is remembered until a writer opens the file anew",
          "[fs][write_session_table][unit]") {
  Table files;
  const auto session = files.begin();
  test::write_at(*session, 0, Bytes(10));
  {
    test::WriteMount other;
    const auto stranger = other.open(files.path());
    test::write_at(*stranger, 0, Bytes(20));
    REQUIRE(stranger->commit(false));
  }
  CHECK(std::holds_alternative<LostBytes>(files.table.written_bytes(files.key)));
  files.end();
  CHECK_FALSE(files.table.find(files.key));
  CHECK(std::holds_alternative<LostBytes>(files.table.written_bytes(files.key)));
  CHECK(files.table.losses().names().size() == 1);
  CHECK(files.lines().size() == 1);
  files.begin();
  CHECK(std::holds_alternative<Session>(files.table.written_bytes(files.key)));
  files.end();
  CHECK(std::holds_alternative<SavedBytes>(files.table.written_bytes(files.key)));
  CHECK(files.table.losses().names().size() == 1);  // for the end of the mount
}

TEST_CASE("write_session_table: only a file without a name and a writer is unreachable",
          "[fs][write_session_table][unit]") {
  Table files;
  const auto session = files.begin();
  test::write_at(*session, 0, Bytes(10));
  files.table.end_unreachable(files.key);
  session->expect_removal();
  stdfs::remove(files.path());
  files.table.end_unreachable(files.key);
  CHECK(files.table.find(files.key) == session);
  CHECK(files.table.named().empty());
  CHECK(files.table.all().size() == 1);
  files.close();
  files.table.end_unreachable(files.key);
  CHECK_FALSE(files.table.find(files.key));
  CHECK(files.table.losses().is_empty());
}

}  // namespace
}  // namespace framefs::fs::write_session_table_test
