#include "fs/write/frame_write_session.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "codec/core/byte_reader.h"
#include "fs/core/may_wait.h"
#include "tests/support/file_size_limit.h"
#include "tests/support/random_seed.h"
#include "tests/support/temp_directory.h"
#include "tests/support/threads.h"
#include "tests/unit/fs/forwarding_backend.h"
#include "tests/unit/fs/write_mount.h"

namespace framefs::fs {
namespace {

using test::Bytes;
using test::FileSizeLimit;
using test::read_session;
using test::read_stored;
using test::WriteMount;

codec::FrameParams params_of(codec::CodecId codec, std::uint32_t typesize,
                             std::uint32_t chunksize) {
  codec::FrameParams params{.encode = {.codec = codec, .typesize = typesize},
                            .chunksize = chunksize};
  params.encode.filters.back().id = 1;
  return params;
}

// A frame and its expected content.  Random changes are applied to both.
class Model {
 public:
  Model(WriteMount& mount, std::filesystem::path path, std::uint64_t seed)
      : mount_(mount), path_(std::move(path)), random_(seed), session_(mount.open(path_)) {}

  void step() {
    switch (pick(16)) {
      case 0:
        truncate();
        break;
      case 1:
        zero();
        break;
      case 2:
        REQUIRE(
            session_->flush(pick(2) == 0 ? ChunkOverlay::Which::full : ChunkOverlay::Which::all));
        break;
      case 3:
        commit();
        break;
      case 4:
        if (pick(4) == 0) reopen();
        break;
      case 5:
        if (pick(8) == 0) REQUIRE(session_->compact(true));
        break;
      case 6:
      case 7:
        check_part();
        break;
      default:
        write();
    }
    REQUIRE(session_->nbytes() == plain_.size());
  }

  void commit() {
    REQUIRE(session_->commit(pick(2) == 0));
    REQUIRE_FALSE(session_->is_changed());
    REQUIRE(read_stored(path_) == plain_);
    REQUIRE(read_session(*session_, 0, plain_.size()) == plain_);
  }

 private:
  static constexpr std::uint64_t kMax = 40000;
  std::uint64_t pick(std::uint64_t below) { return random_() % below; }

  void write() {
    const auto offset = pick(4) == 0 ? plain_.size() : pick(std::min(kMax, plain_.size() + 5000));
    Bytes bytes(1 + pick(pick(3) == 0 ? 9000 : 300));
    const auto kind = pick(3);  // zeros, a repeated pattern, noise
    for (auto& byte : bytes) {
      byte = std::byte(kind == 0 ? 0u : kind == 1 ? pick(2) : random_());
    }
    const FrameWriteSession::Piece piece{offset, bytes};
    REQUIRE(session_->write(std::span(&piece, 1)));
    plain_.resize(std::max<std::size_t>(plain_.size(), offset + bytes.size()));
    std::ranges::copy(bytes, plain_.begin() + static_cast<std::ptrdiff_t>(offset));
  }

  void truncate() {
    const auto size = pick(6) == 0 ? 0 : pick(kMax);
    REQUIRE(session_->truncate(size));
    plain_.resize(size);
  }

  void zero() {
    const auto offset = pick(kMax);
    const auto size = 1 + pick(8000);
    REQUIRE(session_->zero(offset, size));
    for (auto at = offset; at < std::min<std::uint64_t>(offset + size, plain_.size()); ++at) {
      plain_[at] = std::byte{0};
    }
  }

  void check_part() {
    const auto offset = pick(kMax);
    const auto size = pick(6000);
    const auto begin = std::min<std::uint64_t>(offset, plain_.size());
    const auto end = std::min<std::uint64_t>(offset + size, plain_.size());
    REQUIRE(read_session(*session_, offset, size) ==
            Bytes(plain_.begin() + static_cast<std::ptrdiff_t>(begin),
                  plain_.begin() + static_cast<std::ptrdiff_t>(end)));
  }

  void reopen() {
    commit();
    session_ = nullptr;
    session_ = mount_.open(path_);
  }

  WriteMount& mount_;
  const std::filesystem::path path_;
  std::mt19937_64 random_;
  std::shared_ptr<FrameWriteSession> session_;
  Bytes plain_;
};

// A disk whose syncs fail while `fails` is set.
class FailingSyncs final : public test::ForwardingBackend {
 public:
  FailingSyncs(std::unique_ptr<FrameBackend> backend, const bool& fails)
      : ForwardingBackend(std::move(backend)), fails_(fails) {}

 private:
  Status sync_files() override {
    return fails_ ? system_error_of(EIO, "fdatasync") : ForwardingBackend::sync_files();
  }

  const bool& fails_;
};

// Calls on_store() before each chunk that is stored.
class WatchedStores final : public test::ForwardingBackend {
 public:
  WatchedStores(std::unique_ptr<FrameBackend> backend, std::function<void()> on_store)
      : ForwardingBackend(std::move(backend)), on_store_(std::move(on_store)) {}
  Result<std::int64_t> write_chunk(std::span<const std::byte> chunk) override {
    on_store_();
    return ForwardingBackend::write_chunk(chunk);
  }

 private:
  const std::function<void()> on_store_;
};

// A frame in its own folder, open for writing.
struct WrittenFile {
  using Change = std::function<void(FrameWriteSession::Opening&)>;
  WrittenFile(std::uint32_t chunksize, bool sparse, Change change = [](auto&) {}) {
    mount.create(path, params_of(codec::CodecId::lz4, 1, chunksize), sparse);
    mount.change_opening = std::move(change);
    session = mount.open(path);
  }

  const test::TempDirectory folder;
  const std::filesystem::path path = folder.path() / "x.b2frame";
  WriteMount mount;
  std::shared_ptr<FrameWriteSession> session;
};

void write_at(FrameWriteSession& session, std::uint64_t offset, std::span<const std::byte> bytes) {
  const FrameWriteSession::Piece piece{offset, bytes};
  REQUIRE(session.write(std::span(&piece, 1)));
}

Bytes noise(std::size_t size, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  Bytes bytes(size);
  for (auto& byte : bytes) byte = std::byte(random());
  return bytes;
}

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
};

}  // namespace

TEST_CASE("frame_write_session: after a sync that failed, no commit pretends to succeed",
          "[fs][frame_write_session][unit]") {
  bool fails = false;
  const WrittenFile file(4096, GENERATE(false, true), [&](FrameWriteSession::Opening& opening) {
    opening.backend = std::make_unique<FailingSyncs>(std::move(opening.backend), fails);
  });
  const auto& [folder, path, mount, session] = file;
  const auto first = noise(20000, 1);
  write_at(*session, 0, first);
  REQUIRE(session->commit(true));

  write_at(*session, 5000, noise(9000, 2));
  fails = true;
  SECTION("its own") { CHECK_FALSE(session->commit(true)); }
  SECTION("one for many frames") {
    auto begun = session->begin_commit();
    REQUIRE(begun);
    REQUIRE(*begun);
    CHECK_FALSE(session->finish_commit(**begun, system_error_of(EIO, "syncfs")));
  }
  CHECK(read_stored(path) == first);
  // The kernel reports lost pages only once.
  fails = false;
  CHECK(session->is_lost());
  const auto again = session->commit(true);
  REQUIRE_FALSE(again);
  CHECK(again.error().sys == EIO);
  CHECK_FALSE(session->begin_commit());
  CHECK_FALSE(session->flush(ChunkOverlay::Which::all));
  CHECK_FALSE(session->compact(true));
  session->release_old_states();
  CHECK(read_stored(path) == first);
}

TEST_CASE(
    "frame_write_session: chunks of a sparse frame get numbers that the reference library takes",
    "[fs][frame_write_session][unit]") {
  const WrittenFile file(128, true);
  const auto& [folder, path, mount, session] = file;
  auto plain = noise(128 * 400, 1);
  // Several threads store chunks, in any order.  The last chunks come after all others.
  write_at(*session, 0, std::span(plain).first(128 * 398));
  REQUIRE(session->flush(ChunkOverlay::Which::all));
  write_at(*session, 128 * 398, std::span(plain).subspan(128 * 398));
  REQUIRE(session->commit(true));
  REQUIRE(session->zero(0, 128 * 398));
  std::fill_n(plain.begin(), 128 * 398, std::byte{0});
  REQUIRE(session->commit(true));
  REQUIRE(session->compact(false));
  session->release_old_states();

  CHECK(read_stored(path) == plain);
  CHECK(read_session(*session, 0, plain.size()) == plain);
  std::vector<std::string> names;
  for (const auto& item : std::filesystem::directory_iterator(path)) {
    names.push_back(item.path().filename());
  }
  std::ranges::sort(names);
  CHECK(names == std::vector<std::string>{"00000000.chunk", "00000001.chunk", "chunks.b2frame"});
}

TEST_CASE("frame_write_session: a sparse frame that was removed does not come back",
          "[fs][frame_write_session][unit]") {
  const WrittenFile file(4096, true);
  const auto& [folder, path, mount, session] = file;
  write_at(*session, 0, noise(20000, 1));
  CHECK_FALSE(session->remove([] { return system_error_of(ENOTEMPTY, "rmdir"); }));
  CHECK_FALSE(session->is_removed());
  REQUIRE(session->commit(false));
  const auto written = noise(3000, 2);
  write_at(*session, 1000, written);
  REQUIRE(session->remove([&]() -> Status {
    std::filesystem::remove_all(path);
    std::filesystem::create_directory(path);
    return {};
  }));
  write_at(*session, 30000, noise(9000, 3));
  CHECK(session->flush(ChunkOverlay::Which::all));
  CHECK(session->commit(true));
  CHECK(session->compact(true));
  session->release_old_states();
  CHECK(std::filesystem::is_empty(path));
  CHECK(read_session(*session, 1000, 3000) == written);
}

TEST_CASE("frame_write_session: emptying a frame does not touch the bytes of the old state",
          "[fs][frame_write_session][unit]") {
  const WrittenFile file(4096, false);
  const auto& [folder, path, mount, session] = file;
  const auto plain = noise(60, 1);
  write_at(*session, 0, plain);
  REQUIRE(session->set_vlmeta("layer", noise(3000, 2), FrameWriteSession::Existing::any));
  REQUIRE(session->commit(true));
  REQUIRE(session->truncate(0));
  const auto begun = session->begin_commit();
  REQUIRE(begun);
  CHECK(read_stored(path) == plain);
  REQUIRE(session->finish_commit(**begun, {}));
  CHECK(read_stored(path).empty());
}

TEST_CASE("frame_write_session: a frame of no bytes keeps large vl-metalayers",
          "[fs][frame_write_session][unit]") {
  const WrittenFile file(4096, false);
  const auto& [folder, path, mount, session] = file;
  write_at(*session, 0, noise(60, 1));
  REQUIRE(session->set_vlmeta("layer", noise(3000, 2), FrameWriteSession::Existing::any));
  REQUIRE(session->truncate(0));
  REQUIRE(session->commit(true));
  // Repeats the truncation and the commit.
  REQUIRE(session->truncate(0));
  REQUIRE(session->commit(true));
  CHECK_FALSE(session->set_vlmeta("layer", noise(3001, 3), FrameWriteSession::Existing::any));
  // A vl-metalayer can still be replaced although the committed state is empty.
  const auto layer = noise(2000, 4);
  write_at(*session, 0, noise(60, 1));
  REQUIRE(session->set_vlmeta("layer", layer, FrameWriteSession::Existing::any));
  REQUIRE(session->truncate(0));
  REQUIRE(session->commit(true));
  CHECK(read_stored(path).empty());
  CHECK(session->vlmeta("layer").value() == layer);
}

TEST_CASE("frame_write_session: times that are set are not undone by commits",
          "[fs][frame_write_session][unit]") {
  const WrittenFile file(4096, false);
  const auto& [folder, path, mount, session] = file;
  write_at(*session, 0, noise(20000, 1));
  const timespec time{.tv_sec = 1'000'000, .tv_nsec = 5};
  CHECK_FALSE(session->set_mtime(time, [] { return system_error_of(EPERM, "utimensat"); }));
  CHECK(session->mtime().tv_sec > time.tv_sec);
  REQUIRE(session->set_mtime(time, [] { return Status(); }));
  REQUIRE(session->commit(true));
  struct stat st{};
  REQUIRE(::stat(path.c_str(), &st) == 0);
  CHECK(st.st_mtim.tv_sec == time.tv_sec);
  CHECK(st.st_mtim.tv_nsec == time.tv_nsec);
}

TEST_CASE("frame_write_session: a compaction for which there is no room leaves nothing behind",
          "[fs][frame_write_session][unit]") {
  const WrittenFile file(4096, false);
  const auto& [folder, path, mount, session] = file;
  auto plain = noise(4096 * 20, 1);
  write_at(*session, 0, plain);
  REQUIRE(session->commit(true));
  const auto changed = noise(4096 * 3, 2);
  write_at(*session, 4096, changed);
  std::ranges::copy(changed, plain.begin() + 4096);
  REQUIRE(session->commit(true));
  const auto size = std::filesystem::file_size(path);
  {
    const FileSizeLimit limit(size + 3 * 4096);
    const auto compacted = session->compact(true);
    REQUIRE_FALSE(compacted);
  }
  CHECK(std::filesystem::file_size(path) == size);
  CHECK(read_stored(path) == plain);
  REQUIRE(session->compact(true));
  CHECK(read_stored(path) == plain);
  CHECK(read_session(*session, 0, plain.size()) == plain);
  CHECK(std::filesystem::file_size(path) < size - 3 * 4096 + 200);
}

// A frame of which all but the last chunks have become holes.  A sparse frame then has chunk files
// with numbers that are too high.
struct HollowFrame {
  HollowFrame(bool is_sparse, std::uint64_t contiguous_chunk)
      : chunk(is_sparse ? 16 : contiguous_chunk),
        count(is_sparse ? 130 : 40),
        kept(is_sparse ? 3 : 6) {
    mount.create(path, params_of(codec::CodecId::lz4, 1, static_cast<std::uint32_t>(chunk)),
                 is_sparse);
    session = mount.open(path);
    plain = noise(count * chunk, 1);
    const auto hole = (count - kept) * chunk;
    // Several threads store chunks, in any order.  The last chunks come after all others.
    write_at(*session, 0, std::span(plain).first(hole));
    REQUIRE(session->flush(ChunkOverlay::Which::all));
    write_at(*session, hole, std::span(plain).subspan(hole));
    REQUIRE(session->commit(true));
    REQUIRE(session->zero(0, hole));
    std::fill_n(plain.begin(), hole, std::byte{0});
    REQUIRE(session->commit(true));
  }
  [[nodiscard]] bool is_whole() const {
    return read_stored(path) == plain && read_session(*session, 0, plain.size()) == plain;
  }
  void overwrite(std::uint64_t offset, std::uint64_t seed) {
    const auto more = noise(chunk, seed);
    write_at(*session, offset, more);
    std::ranges::copy(more, plain.begin() + static_cast<std::ptrdiff_t>(offset));
  }

  const std::uint64_t chunk;
  const std::uint64_t count;
  const std::uint64_t kept;
  const test::TempDirectory folder;
  const std::filesystem::path path = folder.path() / "x.b2frame";
  WriteMount mount;
  std::shared_ptr<FrameWriteSession> session;
  test::Bytes plain;
};

// A commit after a failed compaction must not depend on data that the compaction abandoned.  The
// disk gets a little more room each time, until the compaction succeeds.
TEST_CASE("frame_write_session: after a compaction that failed midway, commits go on",
          "[fs][frame_write_session][unit]") {
  const bool sparse = GENERATE(false, true);
  const std::uint64_t step = sparse ? 40 : 15;
  std::size_t failures = 0;
  bool has_failed = true;
  for (std::uint64_t room = 0; has_failed; room += step) {
    CAPTURE(sparse, room);
    REQUIRE(room < 10'000);
    HollowFrame frame(sparse, 128);
    const auto& session = frame.session;
    {
      const FileSizeLimit limit(sparse ? room : std::filesystem::file_size(frame.path) + room);
      has_failed = !session->compact(true);
    }
    if (has_failed) ++failures;
    if (session->is_lost()) FAIL("a disk that is full loses nothing");
    for (std::uint64_t round = 0; round < 4; ++round) {
      frame.overwrite(frame.chunk * (frame.count - 2) + round, round);
      REQUIRE(session->commit(round % 2 == 0));
      REQUIRE(frame.is_whole());
    }
    REQUIRE(session->compact(true));
    session->release_old_states();
    REQUIRE(read_stored(frame.path) == frame.plain);
  }
  CHECK(failures > 2);
}

TEST_CASE("frame_write_session: not a byte is stored into a frame that another writer has changed",
          "[fs][frame_write_session][unit]") {
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
    begun.emplace(std::move(**commit));
  }

  interference.run(path, sparse);
  const auto after = files_of(path);
  Status status;
  switch (step) {
    case 0:
      status = session->flush(ChunkOverlay::Which::full);
      break;
    case 1:
      status = session->flush(ChunkOverlay::Which::all);
      break;
    case 2:
      status = session->commit(true);
      break;
    case 3:
      status = session->finish_commit(*begun, {});
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

TEST_CASE("frame_write_session: lost bytes give their memory back",
          "[fs][frame_write_session][unit]") {
  const test::TempDirectory folder;
  const auto path = folder.path() / "x.b2frame";
  WriteMount mount;
  mount.create(path, params_of(codec::CodecId::lz4, 1, 65536), false);
  const auto session = mount.open(path);
  write_at(*session, 0, noise(2u << 20, 1));
  REQUIRE(mount.overlay().used() >= 2u << 20);
  kInterferences[0].run(path, false);
  CHECK_FALSE(session->commit(false));
  CHECK(mount.overlay().used() == 0);
}

// The parameters of a new frame are chosen while a commit has frozen all of its chunks.
TEST_CASE("frame_write_session: a commit of many chunks with few written bytes takes little memory",
          "[fs][frame_write_session][unit]") {
  constexpr std::uint64_t kChunk = 1u << 20;
  constexpr std::uint64_t kCount = 40;
  const test::TempDirectory folder;
  const auto path = folder.path() / "x.b2frame";
  WriteMount mount;
  mount.create(path, params_of(codec::CodecId::lz4, 1, kChunk), false);
  std::uint64_t used = 0;
  const auto session = mount.open(path, [&](std::span<const std::byte>) {
    used = mount.overlay().used();
    return Result<codec::EncodeParams>(codec::EncodeParams{.codec = codec::CodecId::lz4});
  });
  test::Bytes plain(kCount * kChunk);
  const auto write_into_each = [&](std::uint64_t offset, unsigned seed) {
    for (std::uint64_t i = 0; i < kCount; ++i) {
      const auto bytes = noise(100, seed + static_cast<unsigned>(i));
      const auto at = i * kChunk + offset;
      write_at(*session, at, bytes);
      std::ranges::copy(bytes, plain.begin() + static_cast<std::ptrdiff_t>(at));
    }
    plain.resize(session->nbytes());
  };
  write_into_each(700'000, 1);
  REQUIRE(session->commit(false));
  CHECK(used > 0);
  CHECK(used <= kCount * 8192);
  CHECK(mount.overlay().used() == 0);
  CHECK(read_stored(path) == plain);
  write_into_each(300'000, 1000);  // above stored chunks
  CHECK(mount.overlay().used() <= kCount * 8192);
  REQUIRE(session->commit(false));
  CHECK(read_stored(path) == plain);
}

// The first commit has begun and waits for a sync that it shares with other frames.
TEST_CASE("frame_write_session: a commit does not wait for a sync that another commit shares",
          "[fs][frame_write_session][race]") {
  const bool sparse = GENERATE(false, true);
  CAPTURE(sparse);
  const test::TempDirectory folder;
  const auto path = folder.path() / "x.b2frame";
  WriteMount mount;
  mount.create(path, params_of(codec::CodecId::lz4, 1, 4096), sparse);
  const auto session = mount.open(path);
  const auto first = noise(10'000, 1);
  write_at(*session, 0, first);
  const auto begun = session->begin_commit();
  REQUIRE(begun);
  REQUIRE(*begun);
  CHECK(read_stored(path).empty());
  auto plain = test::Bytes(first.begin(), first.end());
  const auto second = noise(100, 2);
  write_at(*session, 50, second);
  std::ranges::copy(second, plain.begin() + 50);
  bool is_committed = false;
  test::finish_in_time("commit", [&] { is_committed = session->commit(true).has_value(); });
  CHECK(is_committed);
  CHECK(read_stored(path) == plain);
  // The sync of the first commit comes too late, and its failure is not that of this frame.
  CHECK(session->finish_commit(**begun, system_error_of(EIO, "syncfs")));
  CHECK_FALSE(session->is_lost());
  REQUIRE(session->truncate(200));
  const auto again = session->begin_commit();
  REQUIRE(again);
  REQUIRE(*again);
  bool is_truncated = false;
  test::finish_in_time("truncate", [&] { is_truncated = session->truncate(100).has_value(); });
  CHECK(is_truncated);
  CHECK(read_stored(path).size() == 200);
  REQUIRE(session->finish_commit(**again, {}));
  REQUIRE(session->commit(false));
  plain.resize(100);
  CHECK(read_stored(path) == plain);
}

// The writer is as fast as the flush: there is always one more complete chunk.
TEST_CASE("frame_write_session: a commit gets its turn between the parts of a flush",
          "[fs][frame_write_session][race]") {
  constexpr std::uint64_t kChunk = 4096;
  FrameWriteSession* writer = nullptr;  // set before the first store
  std::atomic<bool> is_writing{true};
  std::atomic<std::uint64_t> next{2};
  const auto chunk = noise(kChunk, 1);
  const auto write_more = [&] {
    const FrameWriteSession::Piece piece{kChunk * next++, chunk};
    if (is_writing) static_cast<void>(writer->write(std::span(&piece, 1)));
  };
  const WrittenFile file(kChunk, false, [&](FrameWriteSession::Opening& opening) {
    opening.backend = std::make_unique<WatchedStores>(std::move(opening.backend), write_more);
  });
  const auto& [folder, path, mount, session] = file;
  writer = session.get();
  write_at(*session, 0, chunk);
  write_at(*session, kChunk, chunk);
  std::thread flusher([&] { static_cast<void>(session->flush(ChunkOverlay::Which::full)); });
  CHECK(test::comes_true([&] { return next > 10; }));
  bool is_committed = false;
  test::finish_in_time("commit", [&] { is_committed = session->commit(false).has_value(); });
  is_writing = false;
  flusher.join();
  CHECK(is_committed);
  CHECK(read_stored(path).size() >= 2 * kChunk);
}

TEST_CASE("frame_write_session: a compaction can be interrupted before each of its steps",
          "[fs][frame_write_session][unit]") {
  const bool sparse = GENERATE(false, true);
  int most_calls = 0;
  bool is_interrupted = true;
  for (int steps = 0; is_interrupted; ++steps) {
    CAPTURE(sparse, steps);
    REQUIRE(steps < 100);
    HollowFrame frame(sparse, 65536);
    const auto& session = frame.session;
    REQUIRE(session->may_want_compaction());
    CHECK(*session->may_want_compaction());
    int calls = 0;
    REQUIRE(session->compact(false, [&] { return calls++ >= steps; }));
    is_interrupted = calls > steps;
    most_calls = std::max(most_calls, calls);
    REQUIRE(frame.is_whole());
    frame.overwrite(3 * frame.chunk, 2);
    REQUIRE(session->commit(true));
    REQUIRE(frame.is_whole());
    REQUIRE(session->compact(true));
    REQUIRE(frame.is_whole());
    CHECK_FALSE(*session->may_want_compaction());
    if (sparse) continue;
    CHECK(std::filesystem::file_size(frame.path) < 8 * frame.chunk + 4096);
  }
  CHECK(most_calls > 3);
}

TEST_CASE("frame_write_session: where a thread must not wait, nothing is changed",
          "[fs][frame_write_session][unit]") {
  const test::TempDirectory folder;
  const auto path = folder.path() / "x.b2frame";
  WriteMount mount;
  mount.create(path, params_of(codec::CodecId::lz4, 1, 65536), false);
  const auto session = mount.open(path);
  const auto other = mount.open(path);  // as another process
  auto owned = other->begin_change();
  REQUIRE(owned);
  const auto bytes = noise(1u << 20, 1);
  write_at(*session, 0, bytes);
  const NoWaitScope scope;
  CHECK_FALSE(scope.has_refused());
  CHECK_FALSE(session->begin_change());
  CHECK(scope.has_refused());
  CHECK(session->nbytes() == bytes.size());
  {
    const NoWaitScope inner;
    CHECK_FALSE(session->flush(ChunkOverlay::Which::all));
    CHECK(inner.has_refused());
    CHECK(session->used_bytes() >= bytes.size());
  }
}

TEST_CASE("frame_write_session: a write without room changes nothing",
          "[fs][frame_write_session][unit]") {
  const test::TempDirectory folder;
  const auto path = folder.path() / "x.b2frame";
  WriteMount mount(1u << 20);
  mount.create(path, params_of(codec::CodecId::lz4, 1, 65536), false);
  const auto session = mount.open(path);
  const auto bytes = noise(65536, 1);
  std::uint64_t written = 0;
  std::uint64_t missing = 0;
  while (missing == 0 && written < 1u << 20) {
    const auto done = session->append(bytes);
    REQUIRE(done);
    missing = done->missing_room;
    if (missing == 0) written += bytes.size();
  }
  CHECK(missing == bytes.size());
  CHECK(session->nbytes() == written);
  const FrameWriteSession::Piece piece{written, bytes};
  CHECK(session->write(std::span(&piece, 1))->missing_room == bytes.size());
  CHECK(session->nbytes() == written);
  REQUIRE(session->truncate(written + 65536));
  REQUIRE(session->flush(ChunkOverlay::Which::all));
  CHECK(session->append(bytes)->missing_room == 0);
  CHECK(session->nbytes() == written + 2 * 65536);
}

TEST_CASE(
    "frame_write_session: a read notices another writer; where nothing was written, nothing is "
    "lost",
    "[fs][frame_write_session][unit]") {
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

TEST_CASE("frame_write_session: a change of times, mode or links is no change of the frame",
          "[fs][frame_write_session][unit]") {
  const bool sparse = GENERATE(false, true);
  const WrittenFile file(4096, sparse);
  const auto& [folder, path, mount, session] = file;
  auto plain = noise(20000, 1);
  write_at(*session, 0, plain);
  REQUIRE(session->flush(ChunkOverlay::Which::full));
  touch(content_of(path));
  REQUIRE(session->flush(ChunkOverlay::Which::all));
  REQUIRE(session->check());
  REQUIRE(::chmod(content_of(path).c_str(), 0640) == 0);
  if (!sparse) std::filesystem::create_hard_link(path, folder.path() / "other");
  REQUIRE(session->commit(true));
  touch(content_of(path));
  REQUIRE(session->check());
  CHECK(read_stored(path) == plain);
}

TEST_CASE("frame_write_session: readers never take a commit for another writer's",
          "[fs][frame_write_session][race]") {
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
  for (std::uint64_t round = 0; round < 40 || checks < 200; ++round) {
    const auto bytes = noise(9000, round);
    const FrameWriteSession::Piece piece{round % 7 * 3000, bytes};
    // No REQUIRE while the threads run: after a failure it would wait for them forever.
    if (!session->write(std::span(&piece, 1)) || !session->flush(ChunkOverlay::Which::all) ||
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

TEST_CASE("frame_write_session: holds the written bytes, after any sequence of changes",
          "[fs][frame_write_session][unit]") {
  const auto seed = test::random_seed();
  CAPTURE(seed);
  std::mt19937_64 random(seed);
  const test::TempDirectory folder;
  for (const bool sparse : {false, true}) {
    for (const auto codec : {codec::CodecId::lz4, codec::CodecId::zstd, codec::CodecId::blosclz}) {
      for (const std::uint32_t chunksize : {512u, 4096u, 16384u}) {
        WriteMount mount;
        const auto path = folder.path() / "x.b2frame";
        std::filesystem::remove_all(path);
        mount.create(path, params_of(codec, 4, chunksize), sparse);
        Model model(mount, path, random());
        for (int i = 0; i < 300; ++i) model.step();
        model.commit();
        CHECK(mount.lines().empty());
      }
    }
  }
}

}  // namespace framefs::fs
