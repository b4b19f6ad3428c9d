#include "fs/net/cache/sequential_streams.h"

#include "tests/support/catch.h"

namespace framefs::net::sequential_streams_test {
namespace {

constexpr std::uint64_t kMiB = 1 << 20;
constexpr std::uint64_t kSize = 100 * kMiB;

using Course = SequentialStreams::Course;

SequentialStreams::Limits limits(std::uint64_t first_bytes) {
  return {.window_bytes = 16 * kMiB, .first_bytes = first_bytes, .fetch_bytes = 64 * kMiB};
}

// The end of the bytes that are fetched ahead of a reader of `size` bytes at `begin`.
std::uint64_t ahead_of(ByteRange read, std::uint64_t first_bytes) {
  SequentialStreams streams;
  const auto found = streams.note(read, kSize, limits(first_bytes));
  return found.ahead ? found.ahead->offset + found.ahead->size : 0;
}

TEST_CASE("sequential_streams: a reader from the beginning gets the first window",
          "[net][sequential_streams][unit]") {
  const auto smallest = SequentialStreams::kFirstWindowBytes;
  CHECK(ahead_of({0, 100'000}, 5 * kMiB) == 100'000 + 5 * kMiB + smallest);
  CHECK(ahead_of({200, 200'000}, 5 * kMiB) == 200'200 + 5 * kMiB + smallest);
  // Nothing is known of the network, or a round trip is worth few bytes.
  CHECK(ahead_of({0, 100'000}, 0) == 100'000 + smallest);
  // The window of a reader has a maximum.
  CHECK(ahead_of({0, 100'000}, 64 * kMiB) == 100'000 + 16 * kMiB);
  // It grows with the part that was read.
  CHECK(ahead_of({0, 2 * kMiB}, 5 * kMiB) ==
        2 * kMiB + 5 * kMiB + SequentialStreams::kGrowth * 2 * kMiB);
  // The reader may want the header alone.
  CHECK(ahead_of({0, 4096}, 5 * kMiB) == 0);
  CHECK(ahead_of({50 * kMiB, 100'000}, 5 * kMiB) == 0);
}

TEST_CASE("sequential_streams: a reader in the middle gets the small window",
          "[net][sequential_streams][unit]") {
  SequentialStreams streams;
  SequentialStreams::Found found;
  for (unsigned i = 0; i < SequentialStreams::kProofs; ++i) {
    streams.begin_read();
    found = streams.note({50 * kMiB + i * 10'000, 10'000}, kSize, limits(8 * kMiB));
  }
  REQUIRE(found.ahead);
  CHECK(found.ahead->size == SequentialStreams::kFirstWindowBytes);
  CHECK(streams.course() == Course::none);
}

TEST_CASE("sequential_streams: the adjacent ranges of one read prove nothing",
          "[net][sequential_streams][unit]") {
  SequentialStreams streams;
  auto at = 50 * kMiB;
  for (unsigned read = 0; read < SequentialStreams::kProofs; ++read) {
    streams.begin_read();
    for (unsigned i = 0; i < 2 * SequentialStreams::kProofs; ++i, at += 10'000) {
      INFO("read " << read << ", range " << i);
      const auto found = streams.note({at, 10'000}, kSize, limits(8 * kMiB));
      CHECK(found.is_sequential == (read + 1 == SequentialStreams::kProofs));
    }
  }
}

TEST_CASE("sequential_streams: the course of a reader from the beginning",
          "[net][sequential_streams][unit]") {
  SequentialStreams streams;
  CHECK(streams.course() == Course::none);
  streams.note({0, 4096}, kSize, limits(5 * kMiB));
  CHECK(streams.course() == Course::none);
  streams.note({4096, 100'000}, kSize, limits(5 * kMiB));
  CHECK(streams.course() == Course::left_early);
  streams.note({104'096, 5 * kMiB}, kSize, limits(5 * kMiB));
  CHECK(streams.course() == Course::left_early);  // the window has grown as well
  for (auto at = 5 * kMiB + 104'096; at < 40 * kMiB; at += kMiB) {
    streams.note({at, kMiB}, kSize, limits(5 * kMiB));
  }
  CHECK(streams.course() == Course::went_on);
  // All of a short object.
  SequentialStreams whole;
  whole.note({0, 300'000}, 400'000, limits(5 * kMiB));
  CHECK(whole.course() == Course::went_on);
}

}  // namespace
}  // namespace framefs::net::sequential_streams_test
