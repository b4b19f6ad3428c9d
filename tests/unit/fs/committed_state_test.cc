#include "fs/write/commit/committed_state.h"

#include <fcntl.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <thread>
#include <vector>

#include "tests/support/catch.h"
#include "tests/support/temp_directory.h"
#include "tests/unit/fs/written_file.h"

namespace framefs::fs::committed_state_test {
namespace {

constexpr codec::ByteRange kTail{sizeof(FrameHead), 100};

// Writes `head` in two pieces, so that a read meanwhile returns half of it and half of another.
void publish_slowly(CommittedState& state, const FileReader& file, const FrameHead& head,
                    std::uint64_t tail_checksum) {
  CommittedState::Publication publication(state, head);
  {
    CommittedState::Store store(state, file, head.size());
    const auto middle = head.size() / 2;
    REQUIRE(write_fully(file.fd(), 0, std::span(head).first(middle)));
    std::this_thread::yield();
    REQUIRE(write_fully(file.fd(), middle, std::span(head).subspan(middle)));
    store.done();
  }
  std::this_thread::yield();
  publication.done(kTail, tail_checksum);
}

}  // namespace

TEST_CASE("committed_state: a check beside a commit takes no half-written header for a foreign one",
          "[fs][write][unit]") {
  test::TempDirectory folder;
  const std::vector<std::byte> content(kTail.offset + kTail.size, std::byte{1});
  const auto path = folder.write("x", content);
  const FileReader file(UniqueFd(::open(path.c_str(), O_RDWR | O_CLOEXEC)));
  CommittedState state;
  const auto st = stat_of(file.fd());
  REQUIRE(st);
  REQUIRE(state.learn(*st, file, sizeof(FrameHead), kTail));
  const auto tail_checksum =
      CommittedState::checksum(std::span(content).subspan(kTail.offset, kTail.size));

  std::atomic<bool> is_over = false;
  std::atomic<unsigned> checks = 0;
  std::atomic<unsigned> refused = 0;
  std::jthread checker([&] {
    while (!is_over) {
      const auto holds = state.holds(file);
      if (!holds || !*holds) ++refused;
      ++checks;
    }
  });
  constexpr unsigned kPublications = 3000;
  for (unsigned i = 0; i < kPublications; ++i) {
    FrameHead head;
    head.fill(static_cast<std::byte>(i));
    publish_slowly(state, file, head, tail_checksum);
  }
  is_over = true;
  checker.join();
  CHECK(checks > 0);
  CHECK(refused == 0);
}

TEST_CASE(
    "committed_state: after a publication that failed, a change by another program is noticed",
    "[fs][write][unit]") {
  test::TempDirectory folder;
  const std::vector<std::byte> content(kTail.offset + kTail.size, std::byte{1});
  const auto path = folder.write("x", content);
  const FileReader file(UniqueFd(::open(path.c_str(), O_RDWR | O_CLOEXEC)));
  CommittedState state;
  const auto st = stat_of(file.fd());
  REQUIRE(st);
  REQUIRE(state.learn(*st, file, sizeof(FrameHead), kTail));
  {
    FrameHead next;
    next.fill(std::byte{2});
    const CommittedState::Publication failed(state, next);
    CHECK(state.holds(file).value_or(false));
  }
  CHECK(state.holds(file).value_or(false));
  REQUIRE(write_fully(file.fd(), kTail.offset, std::vector<std::byte>(kTail.size, std::byte{3})));
  const auto is_unchanged = state.holds(file);
  REQUIRE(is_unchanged);
  CHECK_FALSE(*is_unchanged);
}

}  // namespace framefs::fs::committed_state_test
