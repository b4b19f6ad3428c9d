#include "fs/write/write_session_table.h"

#include <sys/stat.h>

#include <atomic>
#include <chrono>
#include <filesystem>
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

// New frames that are written by way of a table, whose rounds never come.
class Written {
 public:
  std::unique_ptr<WriteSessionTable> make_table() {
    return std::make_unique<WriteSessionTable>(
        mount_.overlay(), log_.log(), 1h,
        [this](const FileKey&, const FileIdentity&) { ++ended_; });
  }
  stdfs::path write(WriteSessionTable& table, const std::string& name, const Bytes& bytes) {
    const auto path = folder_.path() / name;
    mount_.create(path, {.encode = {}, .chunksize = 1000}, false);
    const auto session = table.open(
        key_of(path), [&] { return Result<WriteSessionTable::Session>(mount_.open(path)); });
    REQUIRE(session);
    const FrameWriteSession::Piece piece{0, bytes};
    REQUIRE((*session)->write(std::span(&piece, 1)));
    return path;
  }
  // Whether so many sessions have ended before somebody loses patience.
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

TEST_CASE("edit_table: what was closed is committed without anybody asking",
          "[fs][edit_table][race]") {
  // One alone; some; more than are committed together.
  for (const std::size_t count : {1U, 7U, 600U}) {
    CAPTURE(count);
    Written files;
    const auto table = files.make_table();
    std::vector<stdfs::path> paths;
    for (std::size_t i = 0; i < count; ++i) {
      paths.push_back(files.write(*table, std::to_string(i), Bytes(10 + i, std::byte(i))));
      table->close(key_of(paths.back()));
    }
    CHECK(files.end(count));
    for (std::size_t i = 0; i < count; ++i) {
      CHECK(test::read_stored(paths[i]) == Bytes(10 + i, std::byte(i)));
      CHECK(table->find(key_of(paths[i])) == nullptr);
    }
    CHECK(files.lines().empty());
  }
}

TEST_CASE("edit_table: what is open or was just closed is committed at its end",
          "[fs][edit_table][race]") {
  Written written;
  auto table = written.make_table();
  std::vector<stdfs::path> paths;
  for (std::size_t i = 0; i < 20; ++i) {
    paths.push_back(written.write(*table, std::to_string(i), Bytes(2000 + i, std::byte(i))));
    if (i % 2 == 0) table->close(key_of(paths.back()));
  }
  table.reset();
  for (std::size_t i = 0; i < paths.size(); ++i) {
    CHECK(test::read_stored(paths[i]) == Bytes(2000 + i, std::byte(i)));
  }
  CHECK(written.lines().empty());
}

}  // namespace
}  // namespace framefs::fs
