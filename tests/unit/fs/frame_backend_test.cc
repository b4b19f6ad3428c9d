#include "fs/write/commit/frame_backend.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "codec/chunk/chunk_encoder.h"
#include "codec/frame/frame_index.h"
#include "codec/frame/frame_trailer.h"
#include "tests/support/file_size_limit.h"
#include "tests/support/temp_directory.h"
#include "tests/unit/fs/write_mount.h"

namespace framefs::fs::frame_backend_test {
namespace {

using test::Bytes;
using test::FileSizeLimit;
using test::read_stored;

constexpr std::uint32_t kChunk = 4096;

Bytes noise(std::size_t size, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  Bytes bytes(size);
  for (auto& byte : bytes) byte = std::byte(random());
  return bytes;
}

codec::FrameParams params() {
  return {.encode = {.codec = codec::CodecId::lz4, .typesize = 1}, .chunksize = kChunk};
}

Bytes encoded(const Bytes& plain) {
  codec::ChunkEncoder encoder;
  Bytes out(codec::ChunkPlan::max_bytes(plain.size()));
  const auto size = encoder.encode(params().encode, plain, out);
  REQUIRE(size);
  out.resize(*size);
  return out;
}

std::uint64_t largest_file(const std::filesystem::path& path) {
  if (!std::filesystem::is_directory(path)) return std::filesystem::file_size(path);
  std::uint64_t most = 0;
  for (const auto& file : std::filesystem::directory_iterator(path)) {
    most = std::max<std::uint64_t>(most, file.file_size());
  }
  return most;
}

// The backend of a frame with two committed chunks, without a session above it.
struct OpenBackend {
  explicit OpenBackend(bool sparse) {
    mount.create(path, params(), sparse);
    const auto session = mount.open(path);
    const FrameWriteSession::Piece piece{0, plain};
    REQUIRE(session->write(std::span(&piece, 1)));
    REQUIRE(session->commit(true));
    open();
  }

  [[nodiscard]] Result<FrameWriteSession::Opening> try_open() {
    const bool sparse = std::filesystem::is_directory(path);
    UniqueFd fd(::open(path.c_str(), (sparse ? O_RDONLY : O_RDWR) | O_CLOEXEC));
    WriteTarget target{.file = nullptr, .directory = {}, .name = "the frame"};
    if (sparse) {
      target.directory = std::move(fd);
    } else {
      target.file = std::make_shared<const FileReader>(std::move(fd));
    }
    return open_for_writing_frame(std::move(target), ContentId{1}, {}, mount.overlay());
  }

  void open() {
    auto opening = try_open();
    REQUIRE(opening);
    entries = opening->entries;
    backend = std::move(opening->backend);
  }

  // Replaces chunk 1 and appends chunk 2.  Returns the first error.
  Status change() {
    changed_entries = entries;
    FRAMEFS_TRY(const auto second, backend->write_chunk(encoded(new_second)));
    fresh.push_back(second);
    FRAMEFS_TRY(const auto third, backend->write_chunk(encoded(new_third)));
    fresh.push_back(third);
    changed_entries[1] = second;
    changed_entries.push_back(third);
    FRAMEFS_CHECK(backend->prepare({3 * kChunk, changed_entries, {}}));
    FRAMEFS_CHECK(backend->sync());
    FRAMEFS_CHECK(backend->publish());
    return backend->sync();
  }
  // Takes back the chunks of a change that failed.
  void take_back() {
    for (const auto entry : fresh) backend->drop(entry);
    fresh.clear();
  }

  [[nodiscard]] Bytes changed() const {
    Bytes all(plain.begin(), plain.begin() + kChunk);
    test::append(all, new_second);
    test::append(all, new_third);
    return all;
  }

  const Bytes plain = noise(2 * kChunk, 1);
  const Bytes new_second = noise(kChunk, 2);
  const Bytes new_third = noise(kChunk, 3);
  const test::TempDirectory folder;
  const std::filesystem::path path = folder.path() / "x.b2frame";
  test::WriteMount mount;
  std::unique_ptr<FrameBackend> backend;
  std::vector<std::int64_t> entries;
  std::vector<std::int64_t> changed_entries;
  std::vector<std::int64_t> fresh;
};

TEST_CASE("frame_backend: a commit replaces the state as a whole", "[fs][write][unit]") {
  const bool sparse = GENERATE(false, true);
  OpenBackend frame(sparse);
  REQUIRE(frame.change());
  CHECK(read_stored(frame.path) == frame.changed());
  REQUIRE(frame.backend->reclaim());
  CHECK(read_stored(frame.path) == frame.changed());
}

TEST_CASE("frame_backend: chunks that were stored and not published change nothing",
          "[fs][write][unit]") {
  const bool sparse = GENERATE(false, true);
  OpenBackend frame(sparse);
  REQUIRE(frame.backend->write_chunk(encoded(frame.new_second)));
  CHECK(read_stored(frame.path) == frame.plain);
  REQUIRE(frame.backend->prepare({2 * kChunk, frame.entries, {}}));
  CHECK(read_stored(frame.path) == frame.plain);
  REQUIRE(frame.backend->check_unchanged());
}

TEST_CASE("frame_backend: a disk that is full at any byte leaves the committed state",
          "[fs][write][unit]") {
  const bool sparse = GENERATE(false, true);
  const auto [first, last] = [&] {
    OpenBackend frame(sparse);
    const auto before = sparse ? 0 : largest_file(frame.path);
    REQUIRE(frame.change());
    return std::pair(before, largest_file(frame.path));
  }();
  REQUIRE(last > first);
  const auto step = std::max<std::uint64_t>(1, (last - first) / 40);
  for (auto limit = first; limit < last; limit += step) {
    CAPTURE(sparse, limit);
    OpenBackend frame(sparse);
    {
      const FileSizeLimit full(limit);
      REQUIRE_FALSE(frame.change());
      frame.take_back();
    }
    REQUIRE(read_stored(frame.path) == frame.plain);
    REQUIRE_FALSE(frame.backend->is_lost());
    // With space again, the same change succeeds.
    REQUIRE(frame.change());
    REQUIRE(read_stored(frame.path) == frame.changed());
  }
}

TEST_CASE("frame_backend: bytes of a failed store are overwritten by the next",
          "[fs][write][unit]") {
  OpenBackend frame(false);
  const auto before = std::filesystem::file_size(frame.path);
  for (int i = 0; i < 5; ++i) {
    const FileSizeLimit full(before + kChunk / 2);
    REQUIRE_FALSE(frame.change());
    frame.take_back();
  }
  REQUIRE(frame.change());
  CHECK(std::filesystem::file_size(frame.path) <= before + 3 * kChunk);
}

TEST_CASE("frame_backend: compaction leaves the live chunks alone", "[fs][write][unit]") {
  OpenBackend frame(false);
  REQUIRE(frame.change());
  frame.backend->drop(frame.entries[1]);
  std::vector<std::int64_t> moved;
  REQUIRE(frame.backend->compact({3 * kChunk, frame.changed_entries, {}},
                                 [&](const auto& entries) { moved = entries; }));
  CHECK(moved.size() == 3);
  CHECK(read_stored(frame.path) == frame.changed());
  CHECK(frame.backend->usage(moved).dead == 0);
}

// The calls of read(2) and pread(2) that this process has made.
std::uint64_t count_reads() {
  std::ifstream io("/proc/self/io");
  std::string name;
  std::uint64_t value = 0;
  while (io >> name >> value) {
    if (name == "syscr:") return value;
  }
  return 0;
}

TEST_CASE("frame_backend: the first commit of a frame with many chunks does not read them all",
          "[fs][write][unit]") {
  constexpr std::uint32_t kSmallChunk = 16;
  constexpr std::size_t kChunks = 70'000;
  const test::TempDirectory folder;
  const auto path = folder.path() / "x.b2frame";
  test::WriteMount mount;
  mount.create(path, {.encode = {.codec = codec::CodecId::lz4}, .chunksize = kSmallChunk}, false);
  const auto plain = noise(kChunks * kSmallChunk, 1);
  const auto write = [](FrameWriteSession& session, std::span<const std::byte> bytes) {
    const FrameWriteSession::Piece piece{0, bytes};
    REQUIRE(session.write(std::span(&piece, 1)));
    REQUIRE(session.commit(false));
  };
  write(*mount.open(path), plain);

  const auto session = mount.open(path);
  const auto before = count_reads();
  const auto first = noise(kSmallChunk, 2);
  write(*session, first);
  CHECK(count_reads() - before < 1000);

  // The compaction finds the dead space.
  write(*session, plain);
  const auto size = std::filesystem::file_size(path);
  const auto again = mount.open(path);
  REQUIRE(again->compact(true));
  CHECK(std::filesystem::file_size(path) < size * 2 / 3);
  const bool is_same = read_stored(path) == plain;
  CHECK(is_same);
}

TEST_CASE("frame_backend: a long index is the same whatever the commits before it were",
          "[fs][write][unit]") {
  constexpr std::size_t kChunks = 50'000;
  OpenBackend frame(false);
  // Most chunks are special, so that the frame needs no more chunks than it has.
  std::mt19937 random(1);
  constexpr codec::Special kSpecials[] = {codec::Special::zero, codec::Special::nan,
                                          codec::Special::uninit};
  while (frame.entries.size() < kChunks) {
    frame.entries.push_back(codec::index_code(kSpecials[random() % 3]));
  }
  const auto stored_index = [&] {
    const FileReader file(UniqueFd(::open(frame.path.c_str(), O_RDONLY | O_CLOEXEC)));
    const auto opened = codec::Frame::open(file, {});
    REQUIRE(opened);
    const auto at = opened->header().header_len + opened->header().cbytes;
    const auto wanted = codec::encode_index(frame.entries).value();
    Bytes bytes(wanted.size());
    REQUIRE(file.read_at(at, bytes));
    return std::pair(bytes == wanted, opened->chunk_count());
  };
  const auto prepare = [&] {
    return frame.backend->prepare({frame.entries.size() * kChunk, frame.entries, {}});
  };
  const auto commit = [&] {
    REQUIRE(prepare());
    REQUIRE(frame.backend->sync());
    REQUIRE(frame.backend->publish());
    const auto [is_whole, count] = stored_index();
    CHECK(is_whole);
    CHECK(count == frame.entries.size());
  };
  const auto change = [&] {
    auto& entry = frame.entries[2 + random() % (kChunks - 2)];
    entry =
        codec::index_code(entry == codec::index_code(kSpecials[0]) ? kSpecials[1] : kSpecials[0]);
  };
  commit();
  for (int round = 0; round < 3; ++round) {
    change();
    commit();
    // Commits that are prepared and never published.
    const auto kept = frame.entries;
    change();
    REQUIRE(prepare());
    {
      change();
      const FileSizeLimit full(std::filesystem::file_size(frame.path));
      static_cast<void>(prepare());
    }
    frame.entries = kept;
    change();
    commit();
    frame.open();
    change();
    commit();
    REQUIRE(frame.backend->compact({frame.entries.size() * kChunk, frame.entries, {}},
                                   [&](const auto& entries) { frame.entries = entries; }));
    change();
    commit();
  }
  const auto session = frame.mount.open(frame.path);
  CHECK(test::read_session(*session, 0, 2 * kChunk) == frame.plain);
}

TEST_CASE("frame_backend: a frame without chunks is long enough before its header changes",
          "[fs][write][unit]") {
  const test::TempDirectory folder;
  const auto path = folder.path() / "x.b2frame";
  test::WriteMount mount;
  mount.create(path, params(), false);
  WriteTarget target{.file = nullptr, .directory = {}, .name = "the frame"};
  target.file =
      std::make_shared<const FileReader>(UniqueFd(::open(path.c_str(), O_RDWR | O_CLOEXEC)));
  const auto opening = open_for_writing_frame(std::move(target), ContentId{1}, {}, mount.overlay());
  REQUIRE(opening);
  const auto content = codec::encode_vlmetalayer(Bytes(100));
  REQUIRE(content);
  std::vector<codec::NamedContent> layers(1);
  layers[0].name = "note";
  layers[0].content = *content;
  auto& backend = *opening->backend;
  REQUIRE(backend.prepare({0, {}, layers}));
  const auto prepared = std::filesystem::file_size(path);
  REQUIRE(backend.sync());
  REQUIRE(backend.publish());
  CHECK(std::filesystem::file_size(path) == prepared);
  CHECK(read_stored(path).empty());
}

TEST_CASE("frame_backend: a change by another writer is final", "[fs][write][unit]") {
  const bool sparse = GENERATE(false, true);
  OpenBackend frame(sparse);
  OpenBackend& other = frame;
  const auto victim = std::move(frame.backend);
  other.open();
  REQUIRE(other.change());

  const auto stored = victim->write_chunk(encoded(frame.new_second));
  REQUIRE_FALSE(stored);
  CHECK(stored.error().sys == EIO);
  CHECK(victim->is_lost());
  CHECK_FALSE(victim->prepare({2 * kChunk, frame.entries, {}}));
  CHECK(read_stored(frame.path) == frame.changed());
}

TEST_CASE("frame_backend: a frame is not taken for damaged while another program changes it",
          "[fs][write][unit]") {
  OpenBackend frame(false);
  const UniqueFd file(::open(frame.path.c_str(), O_RDWR | O_CLOEXEC));
  Bytes whole(std::filesystem::file_size(frame.path));
  REQUIRE(read_fully(file.get(), 0, whole));
  std::atomic<bool> is_over = false;
  std::jthread changing([&] {
    while (!is_over) {
      std::ignore = ::ftruncate(file.get(), static_cast<off_t>(whole.size() / 2));
      std::ignore = ::pwrite(file.get(), whole.data(), whole.size(), 0);
    }
  });
  for (int i = 0; i < 12; ++i) {
    const auto opening = frame.try_open();
    if (!opening) CHECK(opening.error().sys == ESTALE);
  }
  is_over = true;
  changing.join();
  CHECK(frame.try_open());
}

}  // namespace
}  // namespace framefs::fs::frame_backend_test
