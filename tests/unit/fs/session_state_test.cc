#include "fs/write/commit/session_state.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <future>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "codec/core/byte_reader.h"
#include "tests/support/catch.h"
#include "tests/support/sample_data.h"
#include "tests/support/temp_directory.h"
#include "tests/unit/fs/write_mount.h"
#include "tests/unit/fs/written_file.h"

namespace framefs::fs::session_state_test {
namespace {

using test::Bytes;
using test::frame_params;
using test::noise;
using test::read_session;
using test::read_stored;
using test::write_at;
using test::WriteMount;
using test::WrittenFile;

// A change of the frame by another writer, made between a write and its flush.
struct Interference {
  const char* name;
  void (*run)(const std::filesystem::path& path, bool sparse);
};

std::filesystem::path content_of(const std::filesystem::path& path) {
  return std::filesystem::is_directory(path) ? path / "chunks.b2frame" : path;
}

// Returns the content of all files of the frame.
std::map<std::string, Bytes> files_of(const std::filesystem::path& path) {
  const auto bytes_of = [](const std::filesystem::path& file) {
    Bytes bytes(std::filesystem::file_size(file));
    const UniqueFd fd(::open(file.c_str(), O_RDONLY | O_CLOEXEC));
    REQUIRE(read_fully(fd.get(), 0, bytes));
    return bytes;
  };
  std::map<std::string, Bytes> files;
  if (!std::filesystem::is_directory(path)) return {{"", bytes_of(path)}};
  for (const auto& item : std::filesystem::directory_iterator(path)) {
    files.emplace(item.path().filename(), bytes_of(item.path()));
  }
  return files;
}

void overwrite(const std::filesystem::path& file, std::uint64_t at,
               std::span<const std::byte> bytes) {
  const UniqueFd fd(::open(file.c_str(), O_RDWR | O_CLOEXEC));
  REQUIRE(write_fully(fd.get(), at, bytes));
}

std::uint64_t frame_len(const std::filesystem::path& file) {
  const FileReader source(UniqueFd(::open(file.c_str(), O_RDONLY | O_CLOEXEC)));
  std::array<std::byte, codec::kFrameFixedHeaderBytes> head{};
  REQUIRE(source.read_at(0, head));
  constexpr std::size_t kFrameLenAt = 16;  // Source: frame format, "Header"
  return codec::load_be<std::uint64_t>(&head[kFrameLenAt]);
}

// Some changes can be detected only by the file's times.  Two changes can get the same time because
// the clock is coarse, so this sets a distinct time.
void touch(const std::filesystem::path& file) {
  const timespec times[] = {{.tv_sec = 2'000'000, .tv_nsec = 1},
                            {.tv_sec = 2'000'000, .tv_nsec = 1}};
  REQUIRE(::utimensat(AT_FDCWD, file.c_str(), times, 0) == 0);
}

const Interference kInterferences[] = {
    {"a commit of another framefs",
     [](const std::filesystem::path& path, bool) {
       WriteMount other;
       const auto session = other.open(path);
       write_at(*session, 3000, noise(30000, 7));
       REQUIRE(session->commit(true));
     }},
    {"an append that has yet to reach the header",
     [](const std::filesystem::path& path, bool sparse) {
       const auto file = content_of(path);
       overwrite(file, std::filesystem::file_size(file) - (sparse ? 8 : 0), noise(5000, 8));
     }},
    {"a cut",
     [](const std::filesystem::path& path, bool) {
       const auto file = content_of(path);
       std::filesystem::resize_file(file, std::filesystem::file_size(file) - 1);
     }},
    {"a trailer of the same length",
     [](const std::filesystem::path& path, bool) {
       const auto file = content_of(path);
       overwrite(file, frame_len(file) - 30, noise(1, 9));
       touch(file);
     }},
    {"a trailer of the same length, and the old time",
     [](const std::filesystem::path& path, bool) {
       const auto file = content_of(path);
       const auto before = std::filesystem::last_write_time(file);
       // Longer than a tick of the clock, which gives the file its ctime.
       std::this_thread::sleep_for(std::chrono::milliseconds(20));
       overwrite(file, frame_len(file) - 30, noise(1, 9));
       std::filesystem::last_write_time(file, before);
     }},
};

}  // namespace

TEST_CASE("session_state: not a byte is stored into a frame that another writer has changed",
          "[fs][session_state][unit]") {
  const bool sparse = GENERATE(false, true);
  const auto interference =
      GENERATE(from_range(std::begin(kInterferences), std::end(kInterferences)));
  const int step = GENERATE(range(0, 5));
  CAPTURE(sparse, interference.name, step);
  const WrittenFile file(4096, sparse);
  const auto& [folder, path, mount, session] = file;
  write_at(*session, 0, noise(20000, 1));
  REQUIRE(session->commit(true));
  // Creates dead space that a later flush could reuse.
  write_at(*session, 0, noise(8192, 2));
  REQUIRE(session->commit(true));
  write_at(*session, 4096, noise(20000, 3));
  std::optional<FrameWriteSession::Commit> begun;
  if (step == 3) {
    auto commit = session->begin_commit();
    REQUIRE(commit);
    begun = *commit;
  }

  interference.run(path, sparse);
  const auto after = files_of(path);
  Status status;
  switch (step) {
    case 0:
      if (const auto done = session->flush_full(); !done) status = std::unexpected(done.error());
      break;
    case 1:
      status = session->flush();
      break;
    case 2:
      status = session->commit(true);
      break;
    case 3:
      status = session->finish_commit(*begun);
      break;
    default:
      status = session->compact(true);
  }
  REQUIRE_FALSE(status);
  CHECK(status.error().sys == EIO);
  CHECK(session->is_lost());
  CHECK(session->has_uncommitted());
  begun.reset();
  session->release_old_states();
  CHECK(files_of(path) == after);
  const FrameWriteSession::Piece more{0, {}};
  CHECK_FALSE(session->write(std::span(&more, 1)));
  CHECK_FALSE(session->truncate(3));
  CHECK_FALSE(session->extend(100000));
  CHECK_FALSE(session->commit(false));
  CHECK(files_of(path) == after);
}

TEST_CASE("session_state: lost bytes give their memory back", "[fs][session_state][unit]") {
  const test::TempDirectory folder;
  const auto path = folder.path() / "x.b2frame";
  WriteMount mount;
  mount.create(path, frame_params(codec::CodecId::lz4, 1, 65536), false);
  const auto session = mount.open(path);
  write_at(*session, 0, noise(2u << 20, 1));
  REQUIRE(mount.overlay().used() >= 2u << 20);
  kInterferences[0].run(path, false);
  CHECK_FALSE(session->commit(false));
  CHECK(mount.overlay().used() == 0);
}

TEST_CASE(
    "session_state: a read notices another writer; where nothing was written, nothing is "
    "lost",
    "[fs][session_state][unit]") {
  const bool sparse = GENERATE(false, true);
  const auto interference =
      GENERATE(from_range(std::begin(kInterferences), std::end(kInterferences)));
  CAPTURE(sparse, interference.name);
  const WrittenFile file(4096, sparse);
  const auto& [folder, path, mount, session] = file;
  write_at(*session, 0, noise(20000, 1));
  REQUIRE(session->commit(true));
  const auto read = [&] { return session->read_checked([]() -> Result<int> { return 1; }); };
  CHECK(read());
  // Another writer changes the frame during the read.
  CHECK_FALSE(session->read_checked([&]() -> Result<int> {
    interference.run(path, sparse);
    return 1;
  }));
  CHECK(session->is_lost());
  CHECK_FALSE(session->has_uncommitted());
  CHECK_FALSE(read());
  CHECK_FALSE(session->begin_change());
}

TEST_CASE("session_state: a read drops its result before it waits for the overlay",
          "[fs][session_state][unit]") {
  const WrittenFile file(4096, false);
  const auto& [folder, path, mount, session] = file;
  write_at(*session, 0, noise(20000, 1));
  REQUIRE(session->commit(true));
  // A reader holds the overlay while it waits for memory that the result of another read holds.
  std::promise<void> begun;
  std::promise<void> freed;
  bool was_freed = false;
  std::jthread reader([&] {
    session->reading([&] {
      begun.set_value();
      was_freed =
          freed.get_future().wait_for(std::chrono::seconds(10)) == std::future_status::ready;
    });
  });
  begun.get_future().wait();
  int reads = 0;
  const auto result = session->read_checked([&]() -> Result<std::shared_ptr<void>> {
    if (++reads > 1) return nullptr;
    touch(path);
    return std::shared_ptr<void>(&freed, [&](void*) { freed.set_value(); });
  });
  reader.join();
  CHECK(was_freed);
  CHECK(reads == 2);
  REQUIRE(result);
  CHECK_FALSE(*result);
}

TEST_CASE("session_state: a change of times, mode or links is no change of the frame",
          "[fs][session_state][unit]") {
  const bool sparse = GENERATE(false, true);
  const WrittenFile file(4096, sparse);
  const auto& [folder, path, mount, session] = file;
  auto plain = noise(20000, 1);
  write_at(*session, 0, plain);
  REQUIRE(session->flush_full());
  touch(content_of(path));
  REQUIRE(session->flush());
  REQUIRE(session->check());
  REQUIRE(::chmod(content_of(path).c_str(), 0640) == 0);
  if (!sparse) std::filesystem::create_hard_link(path, folder.path() / "other");
  REQUIRE(session->commit(true));
  touch(content_of(path));
  REQUIRE(session->check());
  CHECK(read_stored(path) == plain);
}

// A commit and a compaction by another program can lead to this.
TEST_CASE("session_state: bytes of chunks that another program has changed are read again",
          "[fs][session_state][unit]") {
  constexpr std::uint64_t kChunk = 4096;
  const WrittenFile file(kChunk, false);
  const auto& [folder, path, mount, session] = file;
  auto plain = noise(3 * kChunk, 1);  // cannot be compressed, so it is stored as it is
  write_at(*session, 0, plain);
  REQUIRE(session->commit(true));
  CHECK(read_session(*session, 0, plain.size()) == plain);
  const auto id = session->id();
  REQUIRE(session->check());
  CHECK(session->id() == id);

  const auto stored = files_of(path).at("");
  const auto changed = noise(10, 2);
  const auto at =
      std::ranges::search(stored, std::span(plain).subspan(kChunk, 100)).begin() - stored.begin();
  overwrite(path, static_cast<std::uint64_t>(at), changed);
  touch(path);
  REQUIRE(session->check());
  CHECK(session->id() != id);
  CHECK(session->shown().mtime.tv_sec == 2'000'000);
  std::ranges::copy(changed, plain.begin() + kChunk);
  CHECK(read_session(*session, 0, plain.size()) == plain);
  // The block is not taken from memory where only a part of it is written.
  const auto piece = noise(5, 3);
  write_at(*session, kChunk + 100, piece);
  std::ranges::copy(piece, plain.begin() + kChunk + 100);
  REQUIRE(session->commit(true));
  CHECK(read_stored(path) == plain);
}

TEST_CASE("session_state: readers never take a commit for another writer's",
          "[fs][session_state][race]") {
  const bool sparse = GENERATE(false, true);
  const WrittenFile file(4096, sparse);
  const auto& [folder, path, mount, session] = file;
  std::atomic<bool> ends{false};
  std::atomic<std::size_t> failures{0};
  std::atomic<std::size_t> checks{0};
  std::vector<std::jthread> readers;
  for (int i = 0; i < 3; ++i) {
    readers.emplace_back([&] {
      while (!ends) {
        if (!session->check()) ++failures;
        ++checks;
      }
    });
  }
  for (std::uint32_t round = 0; round < 40 || checks < 200; ++round) {
    const auto bytes = noise(9000, round);
    const FrameWriteSession::Piece piece{round % 7 * 3000, bytes};
    // No REQUIRE while the threads run: after a failure it would wait for them forever.
    if (!session->write(std::span(&piece, 1)) || !session->flush() ||
        !session->commit(round % 3 == 0) || !session->compact(round % 5 == 0) ||
        (round % 9 == 0 && !session->truncate(0))) {
      ++failures;
      break;
    }
  }
  ends = true;
  readers.clear();
  CHECK(failures == 0);
}

}  // namespace framefs::fs::session_state_test
