#include "fs/write/frame_write_session.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <utility>

#include "fs/core/threads/may_wait.h"
#include "tests/support/catch.h"
#include "tests/support/random_seed.h"
#include "tests/support/sample_data.h"
#include "tests/support/temp_directory.h"
#include "tests/unit/fs/write_mount.h"
#include "tests/unit/fs/written_file.h"

namespace framefs::fs::frame_write_session_test {
namespace {

using test::Bytes;
using test::frame_params;
using test::noise;
using test::read_session;
using test::read_stored;
using test::write_at;
using test::WriteMount;
using test::WrittenFile;

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
            (pick(2) == 0 ? session_->flush_full().has_value() : session_->flush().has_value()));
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

}  // namespace

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
  CHECK(session->flush());
  CHECK(session->commit(true));
  CHECK(session->compact(true));
  session->release_old_states();
  CHECK(std::filesystem::is_empty(path));
  CHECK(read_session(*session, 1000, 3000) == written);
}

TEST_CASE("frame_write_session: a frame of no bytes keeps large vl-metalayers",
          "[fs][frame_write_session][unit]") {
  const WrittenFile file(4096, false);
  const auto& [folder, path, mount, session] = file;
  write_at(*session, 0, noise(60, 1));
  REQUIRE(session->vlmeta().set("layer", noise(3000, 2), FrameVlmeta::Existing::any));
  REQUIRE(session->truncate(0));
  REQUIRE(session->commit(true));
  // Repeats the truncation and the commit.
  REQUIRE(session->truncate(0));
  REQUIRE(session->commit(true));
  CHECK_FALSE(session->vlmeta().set("layer", noise(3001, 3), FrameVlmeta::Existing::any));
  // A vl-metalayer can still be replaced although the committed state is empty.
  const auto layer = noise(2000, 4);
  write_at(*session, 0, noise(60, 1));
  REQUIRE(session->vlmeta().set("layer", layer, FrameVlmeta::Existing::any));
  REQUIRE(session->truncate(0));
  REQUIRE(session->commit(true));
  CHECK(read_stored(path).empty());
  CHECK(session->vlmeta().content("layer").value() == layer);
}

TEST_CASE("frame_write_session: times that are set are not undone by commits",
          "[fs][frame_write_session][unit]") {
  const WrittenFile file(4096, false);
  const auto& [folder, path, mount, session] = file;
  write_at(*session, 0, noise(20000, 1));
  const timespec time{.tv_sec = 1'000'000, .tv_nsec = 5};
  CHECK_FALSE(session->set_mtime(time, [] { return system_error_of(EPERM, "utimensat"); }));
  CHECK(session->shown().mtime.tv_sec > time.tv_sec);
  REQUIRE(session->set_mtime(time, [] { return Status(); }));
  REQUIRE(session->commit(true));
  struct stat st{};
  REQUIRE(::stat(path.c_str(), &st) == 0);
  CHECK(st.st_mtim.tv_sec == time.tv_sec);
  CHECK(st.st_mtim.tv_nsec == time.tv_nsec);
}

TEST_CASE("frame_write_session: where a thread must not wait, nothing is changed",
          "[fs][frame_write_session][unit]") {
  const test::TempDirectory folder;
  const auto path = folder.path() / "x.b2frame";
  WriteMount mount;
  mount.create(path, frame_params(codec::CodecId::lz4, 1, 65536), false);
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
    CHECK_FALSE(session->flush());
    CHECK(inner.has_refused());
    CHECK(session->used_bytes() >= bytes.size());
  }
}

TEST_CASE("frame_write_session: a write without room changes nothing",
          "[fs][frame_write_session][unit]") {
  const test::TempDirectory folder;
  const auto path = folder.path() / "x.b2frame";
  WriteMount mount(1u << 20);
  mount.create(path, frame_params(codec::CodecId::lz4, 1, 65536), false);
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
  CHECK(missing == bytes.size() + DirtyChunk::kOverheadBytes);
  CHECK(session->nbytes() == written);
  const FrameWriteSession::Piece piece{written, bytes};
  CHECK(session->write(std::span(&piece, 1))->missing_room == missing);
  CHECK(session->nbytes() == written);
  REQUIRE(session->truncate(written + 65536));
  REQUIRE(session->flush());
  CHECK(session->append(bytes)->missing_room == 0);
  CHECK(session->nbytes() == written + 2 * 65536);
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
        mount.create(path, frame_params(codec, 4, chunksize), sparse);
        Model model(mount, path, random());
        for (int i = 0; i < 300; ++i) model.step();
        model.commit();
        CHECK(mount.lines().empty());
      }
    }
  }
}

}  // namespace framefs::fs::frame_write_session_test
