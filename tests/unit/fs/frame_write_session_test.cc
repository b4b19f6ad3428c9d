#include "fs/write/frame_write_session.h"

#include <signal.h>
#include <sys/resource.h>

#include <algorithm>
#include <cerrno>
#include <functional>
#include <random>

#include "tests/support/random_seed.h"
#include "tests/support/temp_directory.h"
#include "tests/unit/fs/write_mount.h"

namespace framefs::fs {
namespace {

using test::Bytes;
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

// A frame and what it should hold, changed alike at random.
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
    const auto kind = pick(3);  // zeros, something that repeats, noise
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

// A disk of which syncs fail when they are told to.
class FailingSyncs final : public FrameBackend {
 public:
  FailingSyncs(std::unique_ptr<FrameBackend> backend, const bool& fails)
      : backend_(std::move(backend)), fails_(fails) {}

  Result<std::int64_t> write_chunk(std::span<const std::byte> chunk) override {
    return backend_->write_chunk(chunk);
  }
  void drop(std::int64_t entry) override { backend_->drop(entry); }
  Status prepare(const FrameContent& content) override { return backend_->prepare(content); }
  Status publish() override { return backend_->publish(); }
  [[nodiscard]] bool wants_reclaim() const override { return backend_->wants_reclaim(); }
  Status reclaim() override { return backend_->reclaim(); }
  [[nodiscard]] std::uint64_t max_empty_trailer() const noexcept override {
    return backend_->max_empty_trailer();
  }
  void release_old_states() override { backend_->release_old_states(); }
  void set_params(const codec::FrameHeader& header) override { backend_->set_params(header); }
  [[nodiscard]] int content_fd() const noexcept override { return backend_->content_fd(); }
  [[nodiscard]] Result<struct stat> content_stat() const override {
    return backend_->content_stat();
  }
  Status compact(const FrameContent& content, const Moved& moved) override {
    return backend_->compact(content, moved);
  }
  Usage usage(std::span<const std::int64_t> entries) override { return backend_->usage(entries); }

 private:
  Status sync_files() override {
    return fails_ ? system_error_of(EIO, "fdatasync") : backend_->sync();
  }

  const std::unique_ptr<FrameBackend> backend_;
  const bool& fails_;
};

// No file becomes longer than that.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(std::uint64_t bytes) {
    ::getrlimit(RLIMIT_FSIZE, &before_);
    handler_ = ::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{bytes, before_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  FileSizeLimit(const FileSizeLimit&) = delete;
  FileSizeLimit& operator=(const FileSizeLimit&) = delete;
  ~FileSizeLimit() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    ::signal(SIGXFSZ, handler_);
  }

 private:
  rlimit before_{};
  sighandler_t handler_ = SIG_DFL;
};

// A frame in a folder of its own, open for writing.
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

}  // namespace

TEST_CASE("frame_edit: after a sync that failed, no commit pretends to succeed",
          "[fs][frame_edit][unit]") {
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
  // The kernel tells of lost pages once.
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

TEST_CASE("frame_edit: chunks of a sparse frame get numbers that the reference library takes",
          "[fs][frame_edit][unit]") {
  const WrittenFile file(128, true);
  const auto& [folder, path, mount, session] = file;
  auto plain = noise(128 * 400, 1);
  write_at(*session, 0, plain);
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

TEST_CASE("frame_edit: a sparse frame that was removed does not come back",
          "[fs][frame_edit][unit]") {
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

TEST_CASE("frame_edit: what a frame is emptied for does not reach into what it was",
          "[fs][frame_edit][unit]") {
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

TEST_CASE("frame_edit: a frame of no bytes keeps large vl-metalayers", "[fs][frame_edit][unit]") {
  const WrittenFile file(4096, false);
  const auto& [folder, path, mount, session] = file;
  write_at(*session, 0, noise(60, 1));
  REQUIRE(session->set_vlmeta("layer", noise(3000, 2), FrameWriteSession::Existing::any));
  REQUIRE(session->truncate(0));
  REQUIRE(session->commit(true));
  // The same once more.
  REQUIRE(session->truncate(0));
  REQUIRE(session->commit(true));
  CHECK_FALSE(session->set_vlmeta("layer", noise(3001, 3), FrameWriteSession::Existing::any));
  // Others, though the committed state is empty.
  const auto layer = noise(2000, 4);
  write_at(*session, 0, noise(60, 1));
  REQUIRE(session->set_vlmeta("layer", layer, FrameWriteSession::Existing::any));
  REQUIRE(session->truncate(0));
  REQUIRE(session->commit(true));
  CHECK(read_stored(path).empty());
  CHECK(session->vlmeta("layer").value() == layer);
}

TEST_CASE("frame_edit: times that are set are not undone by commits", "[fs][frame_edit][unit]") {
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

TEST_CASE("frame_edit: a compaction for which there is no room leaves nothing behind",
          "[fs][frame_edit][unit]") {
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

// Wherever it fails, what is committed later must not lean on what the attempt gave up.
TEST_CASE("frame_edit: after a compaction that failed midway, commits go on",
          "[fs][frame_edit][unit]") {
  const bool sparse = GENERATE(false, true);
  constexpr std::size_t kChunk = 128;
  const std::size_t chunks = sparse ? 500 : 40;
  std::size_t failures = 0;
  for (std::uint64_t room = 0; room < 2400; room += 60) {
    CAPTURE(sparse, room);
    const WrittenFile file(kChunk, sparse);
    const auto& [folder, path, mount, session] = file;
    auto plain = noise(kChunk * chunks, 1);
    write_at(*session, 0, plain);
    REQUIRE(session->commit(true));
    // All but the last chunks, whose numbers are too high then, in a sparse frame.
    const auto zeros = kChunk * (sparse ? chunks - 3 : chunks - 8);
    REQUIRE(session->zero(0, zeros));
    std::fill_n(plain.begin(), zeros, std::byte{0});
    REQUIRE(session->commit(true));
    {
      const FileSizeLimit limit(sparse ? room : std::filesystem::file_size(path) + room);
      if (!session->compact(true)) ++failures;
    }
    if (session->is_lost()) FAIL("a disk that is full loses nothing");
    for (std::uint64_t round = 0; round < 4; ++round) {
      const auto at = kChunk * (chunks - 2) + round;
      const auto bytes = noise(kChunk, round);
      write_at(*session, at, bytes);
      std::ranges::copy(bytes, plain.begin() + static_cast<std::ptrdiff_t>(at));
      REQUIRE(session->commit(round % 2 == 0));
      REQUIRE(read_stored(path) == plain);
      REQUIRE(read_session(*session, 0, plain.size()) == plain);
    }
    REQUIRE(session->compact(true));
    session->release_old_states();
    REQUIRE(read_stored(path) == plain);
  }
  CHECK(failures > 2);
}

TEST_CASE("frame_edit: is what was written, after any sequence of changes",
          "[fs][frame_edit][unit]") {
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
