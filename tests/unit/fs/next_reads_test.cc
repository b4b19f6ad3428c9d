#include "fs/read/next_reads.h"

#include <algorithm>
#include <random>
#include <utility>
#include <vector>

#include "tests/support/catch.h"

namespace framefs::fs::next_reads_test {
namespace {

constexpr std::uint64_t kKiB = 1u << 10;
constexpr std::uint64_t kMiB = 1u << 20;
constexpr std::uint64_t kFault = 16 * kKiB;
constexpr std::uint64_t kMiddle = 500 * kMiB;

// A reader, and the end of all that it was said to want next.
struct Reader {
  Reader() = default;
  explicit Reader(ArrayGrid grid) : reads(std::move(grid)) {}
  void read(ByteRange range) {
    for (const auto& next : reads.note(range)) {
      named_to = std::max(named_to, next.offset + next.size);
      last = next;
      ++count;
    }
  }
  void read_all(std::uint64_t begin, std::uint64_t end, std::uint64_t piece = kFault) {
    for (auto at = begin; at < end; at += piece) read({at, std::min(piece, end - at)});
  }
  NextReads reads;
  std::uint64_t named_to = 0;
  ByteRange last{};
  int count = 0;
};

TEST_CASE("next_reads: a point, a page fault and a short run name nothing",
          "[fs][next_reads][unit]") {
  Reader points;
  for (std::uint64_t i = 0; i < 50; ++i) points.read({kMiddle + (i * i % 97) * kMiB, 4096});
  CHECK(points.count == 0);
  Reader faults;
  for (std::uint64_t i = 0; i < 50; ++i) {
    const auto at = kMiddle + (i * i % 97) * kMiB;
    faults.read_all(at, at + 2 * kFault);
  }
  CHECK(faults.count == 0);
  Reader header;
  header.read_all(0, 64 * kKiB, 4096);
  CHECK(header.count == 0);
}

TEST_CASE("next_reads: a run in the middle names at most four times as much as it has read",
          "[fs][next_reads][unit]") {
  for (const auto size : {256 * kKiB, 512 * kKiB, kMiB, 2 * kMiB}) {
    INFO("a run of " << size);
    Reader reader;
    reader.read_all(kMiddle, kMiddle + size);
    REQUIRE(reader.count > 0);
    CHECK(reader.named_to > kMiddle + 4 * size);
    CHECK(reader.named_to <= kMiddle + 5 * size);
  }
}

TEST_CASE("next_reads: a run is expected to be as long as the two before it",
          "[fs][next_reads][unit]") {
  constexpr auto kRun = 256 * kKiB;
  const auto place = [](std::uint64_t i) { return kMiddle + (i * i % 97) * 8 * kMiB; };
  Reader reader;
  reader.read_all(place(1), place(1) + kRun);
  const auto count = reader.count;
  reader.read_all(place(2), place(2) + kRun);
  CHECK(reader.count == count);  // one run says nothing about the next one
  reader.read({place(3), kFault});
  CHECK(reader.last == ByteRange{place(3) + kFault, kRun - kFault});
  reader.read_all(place(3) + kFault, place(3) + kRun);
  CHECK(reader.last.offset + reader.last.size == place(3) + kRun);
  reader.read_all(place(3) + kRun, place(3) + 2 * kRun);  // it has no known end
  CHECK(reader.named_to > place(3) + 6 * kRun);
  reader.read({place(4), kFault});
  CHECK(reader.last == ByteRange{place(4) + kFault, kRun - kFault});
  // A point among the runs names no more than a run, and points end the expectation.
  for (std::uint64_t i = 5; i < 7; ++i) reader.read({place(i), kFault});
  const auto before = reader.count;
  for (std::uint64_t i = 7; i < 9; ++i) reader.read_all(place(i), place(i) + 2 * kFault);
  CHECK(reader.count == before);
}

TEST_CASE("next_reads: a reader of much names more and more", "[fs][next_reads][unit]") {
  SECTION("large reads at the beginning") {
    Reader reader;
    reader.read({0, 128});
    reader.read({128, 128 * kKiB});
    CHECK(reader.named_to == 128 + 128 * kKiB + 8 * kMiB);
  }
  SECTION("page faults from the beginning") {
    Reader reader;
    reader.read_all(0, 12 * kFault);
    CHECK(reader.count == 0);
    reader.read({12 * kFault, kFault});
    CHECK(reader.named_to == 65 * kFault);
  }
  SECTION("a long run") {
    Reader reader;
    reader.read_all(kMiddle, kMiddle + 5 * kMiB);
    CHECK(reader.named_to >= kMiddle + 20 * kMiB);
    // The window has a limit.
    reader.read_all(kMiddle + 5 * kMiB, kMiddle + 100 * kMiB);
    CHECK(reader.named_to <= kMiddle + 164 * kMiB);
    CHECK(reader.named_to >= kMiddle + 150 * kMiB);
  }
}

TEST_CASE("next_reads: not each read names something", "[fs][next_reads][unit]") {
  Reader reader;
  reader.read_all(0, 64 * kMiB);
  CHECK(reader.count < 200);
}

TEST_CASE("next_reads: requests that overtake each other are one run", "[fs][next_reads][unit]") {
  Reader reader;
  constexpr auto kPiece = 128 * kKiB;
  for (std::uint64_t at = kMiddle; at < kMiddle + 8 * kMiB; at += 2 * kPiece) {
    reader.read({at, kPiece / 2});
    reader.read({at + kPiece, kPiece});
    reader.read({at + kPiece / 2, kPiece / 2});
  }
  CHECK(reader.named_to >= kMiddle + 32 * kMiB);
}

TEST_CASE("next_reads: gaps make runs of their own", "[fs][next_reads][unit]") {
  Reader reader;
  for (std::uint64_t i = 0; i < 4; ++i) reader.read({kMiddle + i * i * 3 * kFault, kFault});
  CHECK(reader.count == 0);
}

// 64 planes of 512 rows of 2 KiB, in blocks of 16 planes and 32 rows, behind a header.
constexpr std::uint64_t kHeader = 128;
constexpr auto kPlane = kMiB;
constexpr auto kBand = 64 * kKiB;
ArrayGrid cube() {
  return {kHeader, {{kPlane, 16 * kPlane, 64 * kPlane}, {2 * kKiB, kBand, kPlane}}};
}

TEST_CASE("next_reads: the next band of blocks is named when a run comes to its second one",
          "[fs][next_reads][unit]") {
  const auto plane = 20 * kPlane;
  Reader reader(cube());
  reader.read_all(plane, plane + kBand);
  CHECK(reader.count == 0);
  reader.read({plane + kBand, kFault});
  CHECK(reader.last == ByteRange{plane + kBand + kFault, 2 * kBand - kFault + kHeader});
  reader.read_all(plane + kBand + kFault, plane + 3 * kBand);
  CHECK(reader.count == 1);
}

TEST_CASE("next_reads: a short run at the border of two bands names nothing",
          "[fs][next_reads][unit]") {
  Reader reader(cube());
  reader.read_all(20 * kPlane + kBand - kFault, 20 * kPlane + kBand + kFault);
  CHECK(reader.count == 0);
}

TEST_CASE("next_reads: a long run is expected to end with its plane", "[fs][next_reads][unit]") {
  const auto plane = 20 * kPlane;
  Reader reader(cube());
  reader.read_all(plane, plane + 256 * kKiB);
  CHECK(reader.named_to == plane + kPlane + kHeader);
  // It goes on in the next one.
  reader.read_all(plane + 256 * kKiB, plane + kPlane + 2 * kFault);
  CHECK(reader.named_to > plane + 4 * kPlane);
}

TEST_CASE("next_reads: equal runs name those in the same blocks, and in a third as many behind",
          "[fs][next_reads][unit]") {
  constexpr auto kRun = 8 * kFault;
  const auto run = [](std::uint64_t i) { return i * kPlane + 5 * kBand; };
  Reader reader(cube());
  const auto read_to = [&](std::uint64_t first, std::uint64_t end) {
    for (auto i = first; i < end; ++i) reader.read_all(run(i), run(i) + kRun);
  };
  read_to(0, 16);
  CHECK(reader.named_to == run(15) + kRun);
  reader.read({run(16), kFault});
  CHECK(reader.named_to == run(47) + kRun);
  reader.read_all(run(16) + kFault, run(16) + kRun);
  read_to(17, 33);
  CHECK(reader.named_to == run(63) + kRun);
  read_to(33, 64);
  CHECK(reader.named_to == run(63) + kRun);  // the array ends here
}

TEST_CASE("next_reads: runs in blocks of their own name a third as many as were read",
          "[fs][next_reads][unit]") {
  constexpr auto kRun = 8 * kFault;
  const auto run = [](std::uint64_t i) { return i * kPlane; };
  Reader reader(ArrayGrid(0, {{kPlane, kPlane, 64 * kPlane}}));
  for (std::uint64_t i = 0; i < 31; ++i) reader.read_all(run(i), run(i) + kRun);
  CHECK(reader.named_to == run(40) + kRun);
}

TEST_CASE("next_reads: late requests of a run do not end the next one", "[fs][next_reads][unit]") {
  constexpr auto kRun = 8 * kFault;
  const auto run = [](std::uint64_t i) { return kMiddle + i * kMiB; };
  Reader reader;
  for (std::uint64_t i = 0; i < 8; ++i) {
    reader.read({run(i), kFault});
    if (i > 0) reader.read({run(i - 1) + kRun - kFault, kFault});
    reader.read({run(i) + 2 * kFault, kFault});
    reader.read({run(i) + kFault, kFault});
    reader.read_all(run(i) + 3 * kFault, run(i) + kRun - kFault);
  }
  CHECK(reader.last.offset == run(8));
}

// As the C library copies a plane from a mapping.
TEST_CASE("next_reads: a run goes on when its end was read first", "[fs][next_reads][unit]") {
  Reader reader;
  reader.read({kMiddle, kFault});
  reader.read({kMiddle + kMiB, kFault});
  reader.read_all(kMiddle + kFault, kMiddle + 13 * kFault);
  CHECK(reader.last == ByteRange{kMiddle + 13 * kFault, 4 * 13 * kFault});
}

// Oracle: the planes of a cube.
TEST_CASE("next_reads: equal runs at equal distances name the runs that follow",
          "[fs][next_reads][unit]") {
  constexpr auto kRun = 8 * kFault;
  Reader reader;
  const auto run = [](std::uint64_t i) { return kMiddle + i * kMiB; };
  for (std::uint64_t i = 0; i < 3; ++i) reader.read_all(run(i), run(i) + kRun);
  CHECK(reader.named_to <= run(2) + 2 * kRun);
  reader.read({run(3), kFault});
  CHECK(reader.last == ByteRange{run(4), kRun});
  const auto count = reader.count;
  reader.read_all(run(3) + kFault, run(3) + kRun);
  CHECK(reader.count == count);  // the run ends where the others did
  for (std::uint64_t i = 4; i < 18; ++i) reader.read_all(run(i), run(i) + kRun);
  CHECK(reader.named_to == run(17 + 16 / 4) + kRun);
  // Another distance: the run will be as long as the others, but which one follows is not known.
  reader.read({run(30), kFault});
  CHECK(reader.last == ByteRange{run(30) + kFault, kRun - kFault});
  // A reader that goes on behind the usual end of a run is sequential.
  Reader longer;
  for (std::uint64_t i = 0; i < 4; ++i) longer.read_all(run(i), run(i) + kRun);
  longer.read_all(run(3) + kRun, run(3) + 3 * kRun);
  CHECK(longer.named_to > run(3) + 12 * kRun);
}

TEST_CASE("next_reads: overtaken requests do not shift the runs that follow",
          "[fs][next_reads][unit]") {
  constexpr auto kRun = 8 * kFault;
  constexpr std::uint64_t kRuns = 64;
  const auto run = [](std::uint64_t i) { return kMiddle + i * kMiB; };
  for (const std::uint64_t period : {1u, 2u, 3u, 5u}) {
    INFO("in each run of " << period);
    NextReads reads;
    std::vector<ByteRange> named;
    const auto note = [&](ByteRange read) {
      for (const auto& range : reads.note(read)) named.push_back(range);
    };
    for (std::uint64_t i = 0; i < kRuns; ++i) {
      const bool is_overtaken = i % period == 0;
      note({run(i) + (is_overtaken ? kFault : 0), kFault});
      note({run(i) + (is_overtaken ? 0 : kFault), kFault});
      for (auto at = 2 * kFault; at < kRun; at += kFault) note({run(i) + at, kFault});
    }
    CHECK(named.size() > kRuns);
    // Before the distance is known, the rest of a run is named.
    const auto rests = std::ranges::remove_if(named, [&](ByteRange range) {
      return range.size < kRun && (range.offset + range.size) % kMiB <= kRun + kFault;
    });
    CHECK(rests.size() < 4);
    named.erase(rests.begin(), rests.end());
    CHECK(std::ranges::all_of(named, [&](ByteRange range) {
      return range.offset % kMiB == kMiddle % kMiB && range.size == kRun;
    }));
    CHECK(std::ranges::max(named).offset == run(kRuns - 1 + (kRuns - 2) / 4));
  }
}

TEST_CASE("next_reads: requests in any order name ranges near those that were read",
          "[fs][next_reads][unit]") {
  std::mt19937_64 random(3);
  for (int round = 0; round < 200; ++round) {
    NextReads reads;
    const auto step = kFault << random() % 4;
    auto at = kMiddle;
    for (int i = 0; i < 100; ++i) {
      at += step * (random() % 3);
      at -= step * (random() % 3);
      for (const auto& next : reads.note({at, kFault})) {
        REQUIRE(next.offset >= kMiddle / 2);
        REQUIRE(next.offset <= 2 * kMiddle);
      }
    }
  }
}

}  // namespace
}  // namespace framefs::fs::next_reads_test
