#include "fs/write/commit/frame_committer.h"

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "fs/core/diagnostics/error_map.h"
#include "tests/support/catch.h"
#include "tests/support/file_size_limit.h"
#include "tests/support/sample_data.h"
#include "tests/support/temp_directory.h"
#include "tests/unit/fs/forwarding_backend.h"
#include "tests/unit/fs/write_mount.h"
#include "tests/unit/fs/written_file.h"

namespace framefs::fs::frame_committer_test {
namespace {

using test::FileSizeLimit;
using test::frame_params;
using test::noise;
using test::read_session;
using test::read_stored;
using test::write_at;
using test::WriteMount;
using test::WrittenFile;

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

// A disk that has no room for chunks while `is_full` is set.
class FullDiskForChunks final : public test::ForwardingBackend {
 public:
  FullDiskForChunks(std::unique_ptr<FrameBackend> backend, const bool& is_full)
      : ForwardingBackend(std::move(backend)), is_full_(is_full) {}
  Result<std::int64_t> write_chunk(std::span<const std::byte> chunk) override {
    if (is_full_) return codec::fail(codec::Errc::no_space, "write");
    return ForwardingBackend::write_chunk(chunk);
  }

 private:
  const bool& is_full_;
};

// A disk whose user may have no more while `is_used_up` is set: a rename takes space, too.
class UsedUpQuota final : public test::ForwardingBackend {
 public:
  UsedUpQuota(std::unique_ptr<FrameBackend> backend, const bool& is_used_up)
      : ForwardingBackend(std::move(backend)), is_used_up_(is_used_up) {}
  Status publish() override {
    return is_used_up_ ? system_error_of(EDQUOT, "rename") : ForwardingBackend::publish();
  }

 private:
  const bool& is_used_up_;
};

// A frame of ten chunks.  The first two and a part of the third are committed, and there is room
// for five.
struct TooLongFrame {
  TooLongFrame() {
    write_at(*file.session, 0, std::span(plain).first(kCommitted));
    REQUIRE(file.session->commit(true));
    write_at(*file.session, kCommitted,
             std::span(plain).subspan(kCommitted, kFitting - kCommitted));
    REQUIRE(file.session->flush());
    is_full = true;
    write_at(*file.session, kFitting, std::span(plain).subspan(kFitting));
  }
  [[nodiscard]] test::Bytes first(std::size_t size) const {
    return {plain.begin(), plain.begin() + static_cast<std::ptrdiff_t>(size)};
  }

  static constexpr std::size_t kChunk = 4096;
  static constexpr std::size_t kCommitted = 2 * kChunk + 100;
  static constexpr std::size_t kFitting = 5 * kChunk;
  test::Bytes plain = noise(10 * kChunk, 1);
  bool is_full = false;
  const WrittenFile file{kChunk, GENERATE(false, true), [this](auto& opening) {
                           opening.backend = std::make_unique<FullDiskForChunks>(
                               std::move(opening.backend), is_full);
                         }};
};

// A frame of which all but the last chunks have become holes.  A sparse frame then has chunk files
// with numbers that are too high.
struct HollowFrame : test::ComparedFile {
  HollowFrame(bool is_sparse, std::uint32_t contiguous_chunk)
      : ComparedFile(is_sparse ? 16 : contiguous_chunk, is_sparse),
        chunk(is_sparse ? 16 : contiguous_chunk),
        count(is_sparse ? 130 : 40),
        kept(is_sparse ? 3 : 6) {
    plain = noise(count * chunk, 1);
    const auto hole = (count - kept) * chunk;
    // Several threads store chunks, in any order.  The last chunks come after all others.
    write_at(*session, 0, std::span(plain).first(hole));
    REQUIRE(session->flush());
    write_at(*session, hole, std::span(plain).subspan(hole));
    REQUIRE(session->commit(true));
    REQUIRE(session->zero(0, hole));
    std::fill_n(plain.begin(), hole, std::byte{0});
    REQUIRE(session->commit(true));
  }
  [[nodiscard]] bool is_whole() const {
    return read_stored(path) == plain && read_session(*session, 0, plain.size()) == plain;
  }
  void overwrite(std::uint64_t offset, std::uint32_t seed) { write(offset, noise(chunk, seed)); }

  const std::uint64_t chunk;
  const std::uint64_t count;
  const std::uint64_t kept;
};

}  // namespace

TEST_CASE("frame_committer: after a sync that failed, no commit pretends to succeed",
          "[fs][frame_committer][unit]") {
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
  SECTION("that of a frame of a batch") {
    auto begun = session->begin_commit();
    REQUIRE(begun);
    REQUIRE(*begun);
    CHECK_FALSE(session->finish_commit(**begun));
  }
  CHECK(read_stored(path) == first);
  // The kernel reports lost pages only once.
  fails = false;
  CHECK(session->is_lost());
  const auto again = session->commit(true);
  REQUIRE_FALSE(again);
  CHECK(again.error().sys == EIO);
  CHECK_FALSE(session->begin_commit());
  CHECK_FALSE(session->flush());
  CHECK_FALSE(session->compact(true));
  session->release_old_states();
  CHECK(read_stored(path) == first);
}

TEST_CASE("frame_committer: a full disk keeps the chunks before the first one that has no room",
          "[fs][frame_committer][unit]") {
  TooLongFrame frame;
  auto& session = *frame.file.session;
  const auto committed = session.commit(true);
  REQUIRE_FALSE(committed);
  CHECK(committed.error().kind == codec::Errc::no_space);
  CHECK(read_stored(frame.file.path) == frame.first(TooLongFrame::kFitting));
  CHECK(read_session(session, 0, frame.plain.size()) == frame.plain);
  CHECK_FALSE(session.check_space());
  frame.is_full = false;
  CHECK(session.check_space());
  CHECK(read_stored(frame.file.path) == frame.plain);
}

// With --writeback, the kernel turns each error of a write but ENOSPC into EIO.
TEST_CASE("frame_committer: a quota that is used up is a full disk",
          "[fs][frame_committer][unit]") {
  bool is_used_up = true;
  const WrittenFile file(4096, GENERATE(false, true), [&](FrameWriteSession::Opening& opening) {
    opening.backend = std::make_unique<UsedUpQuota>(std::move(opening.backend), is_used_up);
  });
  const auto& [folder, path, mount, session] = file;
  const auto plain = noise(20000, 1);
  write_at(*session, 0, plain);
  const auto committed = session->commit(true);
  REQUIRE_FALSE(committed);
  CHECK(errno_of(committed.error()) == ENOSPC);
  const auto checked = session->check_space();
  REQUIRE_FALSE(checked);
  CHECK(errno_of(checked.error()) == ENOSPC);
  is_used_up = false;
  CHECK(session->check_space());
  CHECK(read_stored(path) == plain);
}

TEST_CASE("frame_committer: a full disk keeps the last commit where bytes were overwritten",
          "[fs][frame_committer][unit]") {
  TooLongFrame frame;
  auto& session = *frame.file.session;
  write_at(session, 5, noise(10, 2));
  CHECK_FALSE(session.commit(true));
  CHECK(read_stored(frame.file.path) == frame.first(TooLongFrame::kCommitted));
  session.discard();
  CHECK(session.is_lost());
  CHECK(read_stored(frame.file.path) == frame.first(TooLongFrame::kCommitted));
}

// The reference library refuses an index entry for zeros that end within an item.
TEST_CASE("frame_committer: zeros that end within an item are stored as chunks",
          "[fs][frame_committer][unit]") {
  constexpr std::uint32_t kChunk = 1002;
  test::ComparedFile file(frame_params(codec::CodecId::lz4, 4, kChunk), GENERATE(false, true));
  const auto& session = file.session;
  const auto commit = [&] {
    REQUIRE(session->commit(true));
    CHECK(read_stored(file.path) == file.plain);
    CHECK(read_session(*session, 0, file.plain.size()) == file.plain);
    return test::stored_zero_entries(file.path);
  };
  file.write(0, noise(std::size_t{3} * kChunk, 1));
  REQUIRE(session->commit(true));
  REQUIRE(session->zero(kChunk, kChunk));
  std::fill_n(file.plain.begin() + kChunk, kChunk, std::byte{0});
  CHECK(commit() == std::vector<bool>(3, false));
  // Many chunks, more than are stored together.  The last one has whole items, then it is longer.
  const auto resize = [&](std::uint64_t nbytes) {
    REQUIRE(session->truncate(nbytes));
    file.plain.resize(nbytes);
  };
  resize(2000 * kChunk + 500);
  auto zero_entries = commit();
  CHECK(zero_entries.back());
  CHECK(std::ranges::count(zero_entries, true) == 1);
  resize(2000 * kChunk + 501);
  CHECK(commit() == std::vector<bool>(2001, false));
  resize(2002 * kChunk);
  CHECK(commit() == std::vector<bool>(2002, false));
  file.write(1000 * kChunk + 5, noise(30, 2));
  file.write(3000 * kChunk, noise(7, 3));
  CHECK(commit() == std::vector<bool>(3001, false));
  resize(1000 * kChunk + 20);
  CHECK(commit().size() == 1001);
  REQUIRE(session->zero(0, file.plain.size()));
  std::ranges::fill(file.plain, std::byte{0});
  zero_entries = commit();
  CHECK(std::ranges::count(zero_entries, true) == 1);
  REQUIRE(session->compact(true));
  CHECK(read_stored(file.path) == file.plain);
}

TEST_CASE("frame_committer: chunks of a sparse frame get numbers that the reference library takes",
          "[fs][frame_committer][unit]") {
  const WrittenFile file(128, true);
  const auto& [folder, path, mount, session] = file;
  auto plain = noise(128 * 400, 1);
  // Several threads store chunks, in any order.  The last chunks come after all others.
  write_at(*session, 0, std::span(plain).first(128 * 398));
  REQUIRE(session->flush());
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

TEST_CASE("frame_committer: emptying a frame does not touch the bytes of the old state",
          "[fs][frame_committer][unit]") {
  const WrittenFile file(4096, false);
  const auto& [folder, path, mount, session] = file;
  const auto plain = noise(60, 1);
  write_at(*session, 0, plain);
  REQUIRE(session->vlmeta().set("layer", noise(3000, 2), FrameVlmeta::Existing::any));
  REQUIRE(session->commit(true));
  REQUIRE(session->truncate(0));
  const auto begun = session->begin_commit();
  REQUIRE(begun);
  CHECK(read_stored(path) == plain);
  REQUIRE(session->finish_commit(**begun));
  CHECK(read_stored(path).empty());
}

TEST_CASE("frame_committer: a compaction for which there is no room leaves nothing behind",
          "[fs][frame_committer][unit]") {
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

// A commit after a failed compaction must not depend on data that the compaction abandoned.  The
// disk gets a little more room each time, until the compaction succeeds.
TEST_CASE("frame_committer: after a compaction that failed midway, commits go on",
          "[fs][frame_committer][unit]") {
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
    for (std::uint32_t round = 0; round < 4; ++round) {
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

TEST_CASE("frame_committer: a compaction can be interrupted before each of its steps",
          "[fs][frame_committer][unit]") {
  const bool sparse = GENERATE(false, true);
  int most_calls = 0;
  bool is_interrupted = true;
  for (int steps = 0; is_interrupted; ++steps) {
    CAPTURE(sparse, steps);
    REQUIRE(steps < 100);
    HollowFrame frame(sparse, 65536);
    const auto& session = frame.session;
    REQUIRE(session->may_want_compaction());
    CHECK(*session->may_want_compaction() == CompactionNeed::now);
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
    CHECK(*session->may_want_compaction() == CompactionNeed::none);
    if (sparse) continue;
    CHECK(std::filesystem::file_size(frame.path) < 8 * frame.chunk + 4096);
  }
  CHECK(most_calls > 3);
}

}  // namespace framefs::fs::frame_committer_test
