#include "fs/write/session_commits.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/catch.h"
#include "tests/support/sample_data.h"
#include "tests/unit/fs/forwarding_backend.h"
#include "tests/unit/fs/write_mount.h"
#include "tests/unit/fs/written_file.h"

namespace framefs::fs::session_commits_test {
namespace {

using test::Bytes;

// Syncs fail, or SOURCE is full, while these are set.
struct Faults {
  bool fails_to_sync = false;
  bool is_full = false;
};

class Faulty final : public test::ForwardingBackend {
 public:
  Faulty(std::unique_ptr<FrameBackend> backend, const Faults& faults)
      : ForwardingBackend(std::move(backend)), faults_(faults) {}
  Status prepare(const FrameContent& content) override {
    if (faults_.is_full) return codec::fail(Errc::no_space, "write");
    return ForwardingBackend::prepare(content);
  }
  // A commit is durable only if the caller asks for that.
  [[nodiscard]] bool wants_reclaim() const override { return false; }

 private:
  Status sync_files() override {
    if (faults_.fails_to_sync) return codec::fail(Errc::system, "sync");
    return ForwardingBackend::sync_files();
  }

  const Faults& faults_;
};

// Frames with written bytes, as a table has them.
class Frames {
 public:
  void add(std::size_t bytes) {
    frames_.push_back(std::make_unique<test::WrittenFile>(1000, false, [this](auto& opening) {
      opening.backend = std::make_unique<Faulty>(std::move(opening.backend), faults);
    }));
    test::write_at(*frames_.back()->session, 0, test::noise(bytes, 1));
    files.push_back({FileKey{1, frames_.size()}, frames_.back()->session});
  }
  [[nodiscard]] std::size_t stored_bytes(std::size_t i) const {
    return test::read_stored(frames_[i]->path).size();
  }

  Faults faults;

 private:
  std::vector<std::unique_ptr<test::WrittenFile>> frames_;

 public:
  std::vector<WriteSessionTable::File> files;
};

TEST_CASE("session_commits: a frame that has much to store is left",
          "[fs][session_commits][unit]") {
  test::TestLog log;
  Frames frames;
  frames.add(100);
  frames.add(3u << 20);
  frames.add(200);
  const auto left = commit_small(log.log(), frames.files);
  REQUIRE(left.size() == 1);
  CHECK(left[0].key == frames.files[1].key);
  CHECK(frames.stored_bytes(0) == 100);
  CHECK(frames.stored_bytes(1) == 0);
  CHECK(frames.stored_bytes(2) == 200);
  commit_alone(log.log(), *left[0].session);
  CHECK(frames.stored_bytes(1) == 3u << 20);
  CHECK(log.lines().empty());
}

TEST_CASE("session_commits: a batch commits more frames than it has threads",
          "[fs][session_commits][race]") {
  test::TestLog log;
  Frames frames;
  for (std::size_t i = 1; i <= 30; ++i) frames.add(i);
  CHECK(commit_small(log.log(), frames.files).empty());
  for (std::size_t i = 0; i < 30; ++i) CHECK(frames.stored_bytes(i) == i + 1);
}

TEST_CASE("session_commits: a failure is in the log, and what failed is tried again",
          "[fs][session_commits][unit]") {
  test::TestLog log;
  Frames frames;
  frames.add(100);
  frames.faults.is_full = true;
  CHECK(commit_small(log.log(), frames.files).empty());
  CHECK(log.lines().size() == 1);
  frames.faults.is_full = false;
  CHECK(commit_durably(log.log(), frames.files).empty());
  CHECK(frames.stored_bytes(0) == 100);
}

TEST_CASE("session_commits: names the frames whose sync failed", "[fs][session_commits][unit]") {
  test::TestLog log;
  Frames frames;
  frames.add(100);
  REQUIRE(frames.files[0].session->commit(false));
  frames.faults.fails_to_sync = true;
  CHECK(commit_durably(log.log(), frames.files) ==
        std::vector<std::string>{frames.files[0].session->name()});
  CHECK(log.lines().size() == 1);
}

}  // namespace
}  // namespace framefs::fs::session_commits_test
