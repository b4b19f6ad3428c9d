#include "fs/write/commit/serial_committer.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <thread>
#include <utility>

#include "fs/write/source_space.h"
#include "tests/support/catch.h"
#include "tests/support/sample_data.h"
#include "tests/support/temp_directory.h"
#include "tests/support/threads.h"
#include "tests/unit/fs/forwarding_backend.h"
#include "tests/unit/fs/write_mount.h"
#include "tests/unit/fs/written_file.h"

namespace framefs::fs::serial_committer_test {
namespace {

using test::frame_params;
using test::noise;
using test::read_stored;
using test::write_at;
using test::WriteMount;
using test::WrittenFile;

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

}  // namespace

// The first commit has begun and waits for those of other frames.
TEST_CASE("serial_committer: a commit does not wait for a sync that another commit shares",
          "[fs][serial_committer][race]") {
  const bool sparse = GENERATE(false, true);
  CAPTURE(sparse);
  const test::TempDirectory folder;
  const auto path = folder.path() / "x.b2frame";
  WriteMount mount;
  mount.create(path, frame_params(codec::CodecId::lz4, 1, 4096), sparse);
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
  // The second step of the first commit comes too late.
  CHECK(session->finish_commit(**begun));
  CHECK_FALSE(session->is_lost());
  REQUIRE(session->truncate(200));
  const auto again = session->begin_commit();
  REQUIRE(again);
  REQUIRE(*again);
  bool is_truncated = false;
  test::finish_in_time("truncate", [&] { is_truncated = session->truncate(100).has_value(); });
  CHECK(is_truncated);
  CHECK(read_stored(path).size() == 200);
  REQUIRE(session->finish_commit(**again));
  REQUIRE(session->commit(false));
  plain.resize(100);
  CHECK(read_stored(path) == plain);
}

// The writer is as fast as the flush: there is always one more complete chunk.
TEST_CASE("serial_committer: a commit gets its turn between the parts of a flush",
          "[fs][serial_committer][race]") {
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
  std::thread flusher([&] {
    while (is_writing && session->flush_full()) {
    }
  });
  CHECK(test::comes_true([&] { return next > 10; }));
  bool is_committed = false;
  test::finish_in_time("commit", [&] { is_committed = session->commit(false).has_value(); });
  is_writing = false;
  flusher.join();
  CHECK(is_committed);
  CHECK(read_stored(path).size() >= 2 * kChunk);
}

// Oracle: the flush ends, although each store of a chunk is followed by two more dirty chunks.
TEST_CASE("serial_committer: a flush does not wait for chunks that are written meanwhile",
          "[fs][serial_committer][race]") {
  constexpr std::uint64_t kChunk = 4096;
  constexpr std::uint64_t kMiddle = 1000;
  const bool goes_backwards = GENERATE(false, true);
  CAPTURE(goes_backwards);
  FrameWriteSession* writer = nullptr;  // set before the first store
  std::atomic<std::uint64_t> next{2};
  const auto chunk = noise(kChunk, 1);
  const auto write_more = [&] {
    for (int i = 0; i < 2; ++i) {
      const auto place = next++ % kMiddle;
      const auto at = goes_backwards ? kMiddle - place : kMiddle + place;
      const FrameWriteSession::Piece piece{kChunk * at, chunk};
      static_cast<void>(writer->write(std::span(&piece, 1)));
    }
  };
  const WrittenFile file(kChunk, false, [&](FrameWriteSession::Opening& opening) {
    opening.backend = std::make_unique<WatchedStores>(std::move(opening.backend), write_more);
  });
  const auto& session = file.session;
  writer = session.get();
  write_at(*session, kMiddle * kChunk, chunk);
  write_at(*session, 0, std::span(chunk).first(100));
  bool is_flushed = false;
  test::finish_in_time("flush", [&] { is_flushed = session->flush().has_value(); });
  CHECK(is_flushed);
  CHECK(session->unstored_bytes() > 0);
}

// Oracle: while the second chunk of a batch is stored, the memory of the first is free.
TEST_CASE("serial_committer: the memory of a chunk is free before its batch is stored",
          "[fs][serial_committer][race]") {
  constexpr std::uint64_t kChunk = 4096;
  FrameWriteSession* writer = nullptr;  // set before the first store
  std::atomic<int> stores{0};
  std::atomic<bool> is_free{false};
  const auto wait_for_first = [&] {
    if (++stores == 1) return;
    is_free = test::comes_true([&] { return writer->used_bytes() < 2 * kChunk; });
  };
  const WrittenFile file(kChunk, false, [&](FrameWriteSession::Opening& opening) {
    opening.backend = std::make_unique<WatchedStores>(std::move(opening.backend), wait_for_first);
  });
  writer = file.session.get();
  write_at(*file.session, 0, noise(2 * kChunk, 1));
  REQUIRE(file.session->used_bytes() >= 2 * kChunk);
  CHECK(file.session->flush());
  CHECK(stores == 2);
  CHECK(is_free);
}

// Oracle: the close returns while another thread stores, and SOURCE has room for everything.
TEST_CASE("serial_committer: a close does not wait for stores that cannot fail",
          "[fs][serial_committer][race]") {
  constexpr std::uint64_t kChunk = 4096;
  std::atomic<bool> is_storing{false};
  std::atomic<bool> is_closed{false};
  const auto wait_for_close = [&] {
    is_storing = true;
    static_cast<void>(test::comes_true([&] { return is_closed.load(); }));
  };
  const WrittenFile file(kChunk, false, [&](FrameWriteSession::Opening& opening) {
    opening.backend = std::make_unique<WatchedStores>(std::move(opening.backend), wait_for_close);
  });
  const auto& session = file.session;
  if (may_lack_space(session->sync_fd(), 2 * kChunk)) {
    WARN("the folder of temporary files has too little room, or quotas");
    return;
  }
  write_at(*session, 0, noise(2 * kChunk, 1));
  std::thread other([&] { static_cast<void>(session->flush()); });
  CHECK(test::comes_true([&] { return is_storing.load(); }));
  CHECK(session->flush_at_close());
  CHECK(session->used_bytes() > 0);
  is_closed = true;
  other.join();
}

}  // namespace framefs::fs::serial_committer_test
