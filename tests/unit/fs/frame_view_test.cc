#include "fs/view/frame_view.h"

#include <fcntl.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <future>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "codec/core/work_budget.h"
#include "fs/core/diagnostics/error_map.h"
#include "tests/support/catch.h"
#include "tests/support/frame_builder.h"
#include "tests/support/random_seed.h"
#include "tests/support/sample_data.h"
#include "tests/support/temp_directory.h"
#include "tests/support/threads.h"
#include "tests/unit/fs/random_chunks.h"
#include "tests/unit/fs/view_mount.h"

namespace framefs::fs::frame_view_test {
namespace {

using codec::Errc;

using test::decode;
using test::joined;
using test::read;

class Mount : public test::ViewMount {
 public:
  using ViewMount::ViewMount;
  std::shared_ptr<const FrameView> view(const test::Bytes& frame) {
    return std::make_shared<const FrameView>(open(frame));
  }
};

test::Bytes random_frame(std::mt19937& random) {
  test::FrameSpec spec;
  spec.typesize = random() % 2 == 0 ? 4 : 8;
  const bool varies = random() % 2 == 0;
  const std::uint32_t most = spec.typesize * (test::draw(random) % 500 + 1);
  spec.chunksize = varies ? 0 : most;
  for (std::size_t left = random() % 10 + 1; left > 0; --left) {
    const bool may_differ = varies || left == 1;
    const auto nbytes =
        may_differ ? spec.typesize * (test::draw(random) % (most / spec.typesize) + 1) : most;
    spec.chunks.push_back(test::random_chunk(random, spec.typesize, nbytes, !varies));
  }
  spec.index = random() % 2 == 0 ? test::IndexForm::memcpyed : test::IndexForm::zstd;
  spec.dead_bytes_before_chunks = random() % 100;
  return test::build_frame(spec).bytes;
}

// Five chunks of 4000 bytes in blocks of 500 bytes.
test::FrameSpec five_chunks() {
  test::FrameSpec spec;
  spec.chunksize = 4000;
  test::ChunkSpec chunk;
  chunk.typesize = 4;
  chunk.blocksize = 500;
  chunk.filters = {test::Filter::shuffle};
  for (std::uint32_t i = 0; i < 5; ++i) {
    spec.chunks.push_back(test::stored_chunk(test::ramp(4000, 4, i), chunk));
  }
  return spec;
}

// Oracle: the serial reader.
TEST_CASE("frame_view: any range of any frame equals the serial reader's",
          "[fs][frame_view][unit]") {
  const auto seed = test::random_seed();
  CAPTURE(seed);
  std::mt19937 random(seed);
  for (int round = 0; round < 40; ++round) {
    CAPTURE(round);
    const auto bytes = random_frame(random);
    const auto whole = decode(bytes);
    Mount mount;
    const auto view = mount.view(bytes);
    REQUIRE(view->is_readable());
    for (int i = 0; i < 50; ++i) {
      const std::uint64_t offset = random() % whole.size();
      const std::uint64_t most = random() % 2 == 0 ? 20 : whole.size();
      const std::uint64_t size = random() % (std::min(most, whole.size() - offset)) + 1;
      CAPTURE(offset, size);
      const auto got = read(*view, offset, size);
      REQUIRE(got);
      REQUIRE(std::ranges::equal(*got, std::span(whole).subspan(offset, size)));
    }
    CHECK(mount.lines().empty());
  }
}

// The index is cached in windows of a few thousand entries.  Oracle: the data.
TEST_CASE("frame_view: chunks are found however many there are", "[fs][frame_view][unit]") {
  constexpr std::size_t kChunks = 20000;
  constexpr std::size_t kChunkBytes = 4;
  const auto data = test::noise(kChunks * kChunkBytes, 5);
  test::FrameSpec spec;
  spec.chunksize = kChunkBytes;
  test::ChunkSpec chunk;
  chunk.codec = test::Codec::memcpy;
  for (std::size_t i = 0; i < kChunks; ++i) {
    spec.chunks.push_back(
        test::stored_chunk(std::span(data).subspan(i * kChunkBytes, kChunkBytes), chunk));
  }
  Mount mount;
  const auto view = mount.view(test::build_frame(spec).bytes);
  const auto all = read(*view, 0, data.size());
  REQUIRE(all);
  CHECK(*all == data);
  const auto later = mount.view(test::build_frame(spec).bytes);
  const std::size_t last = data.size() - 1;
  const auto end = read(*later, last, 1);  // the first window read, and not a full one
  REQUIRE(end);
  CHECK(end->front() == data[last]);
}

TEST_CASE("frame_view: reads end where the frame does", "[fs][frame_view][unit]") {
  const auto bytes = test::build_frame(five_chunks()).bytes;
  const auto whole = decode(bytes);
  Mount mount;
  const auto view = mount.view(bytes);
  constexpr auto kMax = std::numeric_limits<std::uint64_t>::max();
  struct Row {
    std::uint64_t offset;
    std::uint64_t size;
    std::size_t expected;
  };
  for (const auto& row :
       {Row{0, 0, 0}, Row{0, kMax, 20000}, Row{19999, 1, 1}, Row{19999, 2, 1}, Row{19999, kMax, 1},
        Row{20000, 1, 0}, Row{20001, 5, 0}, Row{kMax, 1, 0}, Row{kMax, kMax, 0}, Row{3999, 2, 2}}) {
    CAPTURE(row.offset, row.size);
    const auto got = read(*view, row.offset, row.size);
    REQUIRE(got);
    REQUIRE(got->size() == row.expected);
    if (!got->empty())
      CHECK(std::ranges::equal(*got, std::span(whole).subspan(row.offset, row.expected)));
  }
  const auto empty = mount.view(test::build_frame({}).bytes);
  REQUIRE(empty->is_readable());
  const auto nothing = read(*empty, 0, 100);
  REQUIRE(nothing);
  CHECK(nothing->empty());
}

// Oracle: the undamaged frame.
TEST_CASE("frame_view: a damaged chunk spoils its own range and is logged once",
          "[fs][frame_view][corrupt]") {
  const auto built = test::build_frame(five_chunks());
  const auto whole = decode(built.bytes);
  const auto damaged = [&](const std::string& how) {
    auto bytes = built.bytes;
    const auto chunk_at = built.chunk_at[2];
    if (how == "header") test::put_le<std::int32_t>(bytes, chunk_at + 4, -1);
    if (how == "size") test::put_le<std::int32_t>(bytes, chunk_at + 4, 3996);
    if (how == "codec") bytes[chunk_at + 2] = static_cast<std::byte>(0x35 | 5 << 5);
    // The index is memcpyed: its entries follow its header.
    if (how == "index") test::put_le<std::int64_t>(bytes, built.index_at + 32 + 16, 1 << 30);
    return bytes;
  };
  for (const std::string how : {"header", "size", "codec", "index"}) {
    CAPTURE(how);
    Mount mount;
    const auto view = mount.view(damaged(how));
    REQUIRE(view->is_readable());
    for (int again = 0; again < 3; ++again) {
      for (std::uint64_t offset = 0; offset < 20000; offset += 1000) {
        CAPTURE(offset);
        const auto got = read(*view, offset, 1000);
        REQUIRE(got.has_value() == (offset < 8000 || offset >= 12000));
        if (got) CHECK(std::ranges::equal(*got, std::span(whole).subspan(offset, 1000)));
        if (!got) CHECK(got.error().kind == (how == "codec" ? Errc::unsupported : Errc::bad_field));
      }
      CHECK_FALSE(read(*view, 7999, 2));
      CHECK_FALSE(read(*view, 11999, 2));
    }
    REQUIRE(mount.lines().size() == 1);
    CHECK(mount.lines()[0].starts_with("error: the frame: chunk 2: "));
  }
}

TEST_CASE("frame_view: a damaged block spoils its own range within the chunk",
          "[fs][frame_view][corrupt]") {
  const auto built = test::build_frame(five_chunks());
  const auto whole = decode(built.bytes);
  auto bytes = built.bytes;
  // Block 3 of chunk 2 starts before the chunk's block area.
  test::put_le<std::int32_t>(bytes, built.chunk_at[2] + 32 + 4 * 3, 1);
  Mount mount;
  const auto view = mount.view(bytes);
  std::vector<int> wrong(4);
  test::on_threads(wrong.size(), [&](std::size_t thread) {
    for (std::uint64_t offset = 0; offset < 20000; offset += 500) {
      const auto got = read(*view, offset, 500);
      const bool spoilt = offset == 8000 + 3 * 500;
      if (got.has_value() == spoilt) ++wrong[thread];
      if (got && !std::ranges::equal(*got, std::span(whole).subspan(offset, 500))) ++wrong[thread];
    }
  });
  CHECK(wrong == std::vector<int>(4));
  REQUIRE(mount.lines().size() == 1);
  CHECK(mount.lines()[0] == "error: the frame: chunk 2: bad field: block start (1) at byte " +
                                std::to_string(built.chunk_at[2] + 32 + 4 * 3));
}

TEST_CASE("frame_view: where chunks vary, damage to one hides those behind it",
          "[fs][frame_view][corrupt]") {
  auto spec = five_chunks();
  spec.chunksize = 0;
  const auto built = test::build_frame(spec);
  const auto whole = decode(built.bytes);
  auto bytes = built.bytes;
  test::put_le<std::int32_t>(bytes, built.chunk_at[3] + 4, -5);
  Mount mount;
  const auto view = mount.view(bytes);
  const auto before = read(*view, 0, 12000);
  REQUIRE(before);
  CHECK(std::ranges::equal(*before, std::span(whole).first(12000)));
  for (const std::uint64_t offset : {12000U, 15999U, 16000U, 19999U})
    CHECK_FALSE(read(*view, offset, 1));
  CHECK(mount.lines().size() == 1);
}

TEST_CASE("frame_view: a frame that cannot be opened fails every read with the reason",
          "[fs][frame_view][corrupt]") {
  const auto built = test::build_frame(five_chunks());
  auto cut = built.bytes;
  cut.pop_back();
  auto no_index = built.bytes;
  test::put_le<std::int32_t>(no_index, built.index_at + 12, -1);
  auto newer = built.bytes;
  newer[25] = std::byte{0x1f};
  struct Row {
    test::Bytes bytes;
    Errc kind;
  };
  for (const auto& row : {Row{cut, Errc::truncated}, Row{no_index, Errc::bad_field},
                          Row{newer, Errc::unsupported}, Row{{}, Errc::bad_field}}) {
    Mount mount;
    const auto view = mount.view(row.bytes);
    CHECK_FALSE(view->is_readable());
    for (const std::uint64_t offset : {0U, 1U, 100000U}) {
      const auto got = read(*view, offset, 10);
      REQUIRE_FALSE(got);
      CHECK(got.error().kind == row.kind);
    }
    REQUIRE(mount.lines().size() == 1);
    CHECK(mount.lines()[0].starts_with("error: the frame: "));
  }
}

// Zeros instead would look like data.
TEST_CASE("frame_view: a chunk that a cache has not fetched fails to read",
          "[fs][frame_view][unit]") {
  auto spec = five_chunks();
  spec.chunks[3] = test::index_only_chunk(test::SpecialKind::uninit, 4000);
  spec.metalayers = {{.name = "proxy-source", .content = {}}};
  Mount mount;
  const auto view = mount.view(test::build_frame(spec).bytes);
  CHECK(read(*view, 0, 12000).has_value());
  CHECK(read(*view, 16000, 4000).has_value());
  for (const std::uint64_t offset : {12000U, 15999U}) {
    CHECK(errno_of(read(*view, offset, 1).error()) == EIO);
  }
  REQUIRE(mount.lines().size() == 1);
  CHECK(mount.lines()[0].starts_with("error: the frame: chunk 3: this cache "));
}

// Oracle: all bytes are zero, the cache holds little more than the index, and results own no
// memory.
TEST_CASE("frame_view: a zero frame of 4 TiB takes no memory", "[fs][frame_view][unit]") {
  constexpr std::uint32_t kChunk = 1u << 30;
  constexpr std::uint64_t kWhole = 4ULL << 40;
  test::FrameSpec spec;
  spec.chunksize = kChunk;
  spec.chunks.assign(kWhole / kChunk, test::index_only_chunk(test::SpecialKind::zero, kChunk));
  spec.index = test::IndexForm::value;
  const auto bytes = test::build_frame(spec).bytes;
  REQUIRE(bytes.size() < 1000);
  Mount mount;
  const auto view = mount.view(bytes);
  const auto seed = test::random_seed();
  CAPTURE(seed);
  std::mt19937_64 random(seed);
  for (int i = 0; i < 1000; ++i) {
    const std::uint64_t offset = i == 0 ? kWhole - (1 << 20) : random() % (kWhole - (1 << 20));
    const auto result = view->read(offset, 1 << 20, Access::random);
    REQUIRE(result);
    CHECK(result->owners.empty());
    std::uint64_t size = 0;
    for (const auto& span : result->spans) size += span.size();
    REQUIRE(size == 1 << 20);
    if (i % 100 == 0) {
      for (const auto& span : result->spans) {
        CHECK(std::ranges::all_of(span, [](std::byte b) { return b == std::byte{0}; }));
      }
    }
  }
  // The index, and a table for each chunk that was read.
  CHECK(mount.cache().held_bytes() < 1u << 20);
}

// Oracle: the recorded reads.  Reading bytes that were decoded ahead adds none.
TEST_CASE("frame_view: blocks that were decoded ahead are there, and the end is reported",
          "[fs][frame_view][unit]") {
  const auto bytes = test::build_frame(five_chunks()).bytes;
  const auto whole = decode(bytes);
  const auto source = std::make_shared<const test::SharedSource>(bytes);
  Mount mount;
  const FrameView view(mount.open(source));
  CHECK(view.decode_ahead({3000, 9000}));
  CHECK_FALSE(source->take_reads().empty());
  const auto got = read(view, 3000, 9000);
  REQUIRE(got);
  CHECK(std::ranges::equal(*got, std::span(whole).subspan(3000, 9000)));
  CHECK(source->take_reads().empty());
  CHECK(view.decode_ahead({whole.size() - 1, 9000}));
  CHECK_FALSE(view.decode_ahead({whole.size(), 1}));
  const auto last = read(view, whole.size() - 1, 10);
  REQUIRE(last);
  CHECK(last->back() == whole.back());
}

// Oracle: the data.
TEST_CASE("frame_view: a block of which small parts are read again is hot",
          "[fs][frame_view][unit]") {
  const auto bytes = test::build_frame(five_chunks()).bytes;
  const auto whole = decode(bytes);
  Mount mount;
  const auto view = mount.view(bytes);
  const auto hot_at = [&](std::uint64_t offset, std::uint64_t size) {
    const auto got = view->read(offset, size, Access::random);
    REQUIRE(got);
    CHECK(std::ranges::equal(joined(*got), std::span(whole).subspan(offset, size)));
    return got->hot;
  };
  // In the block from 4500 to 5000.
  CHECK_FALSE(hot_at(4510, 20));
  const auto hot = hot_at(4900, 100);
  REQUIRE(hot);
  CHECK(hot->offset == 4500);
  CHECK(hot->key.content);
  CHECK(std::ranges::equal(hot->bytes->view(), std::span(whole).subspan(4500, 500)));
  CHECK(hot_at(4510, 20));
  // Larger parts, and parts of several blocks, do not count.
  for (auto touch = 0; touch < 3; ++touch) {
    CHECK_FALSE(hot_at(8500, 251));
    CHECK_FALSE(hot_at(8990, 20));
  }
}

TEST_CASE("frame_view: a result stays good without view and cache", "[fs][frame_view][unit]") {
  const auto bytes = test::build_frame(five_chunks()).bytes;
  const auto whole = decode(bytes);
  Mount mount(6000);
  auto view = mount.view(bytes);
  const auto kept = view->read(4100, 1000, Access::random);
  REQUIRE(kept);
  for (std::uint64_t offset = 8000; offset < 20000; offset += 500)
    REQUIRE(read(*view, offset, 500));
  view.reset();
  CHECK(std::ranges::equal(joined(*kept), std::span(whole).subspan(4100, 1000)));
}

// Oracle: all reads are correct and end, although the budget admits one reader at a time.
TEST_CASE("frame_view: many readers get on with hardly any budget", "[fs][frame_view][race]") {
  const auto seed = test::random_seed();
  CAPTURE(seed);
  auto spec = five_chunks();
  test::ChunkSpec delta;
  delta.typesize = 4;
  delta.blocksize = 500;
  delta.filters = {test::Filter::delta, test::Filter::shuffle};
  spec.chunks[1] = test::stored_chunk(test::ramp(4000, 4, 77), delta);
  const auto bytes = test::build_frame(spec).bytes;
  const auto whole = decode(bytes);
  for (const std::uint64_t budget : {0U, 1U, 3000U}) {
    CAPTURE(budget);
    Mount mount(budget);
    const auto view = mount.view(bytes);
    std::vector<int> wrong(12);
    test::on_threads(wrong.size(), [&](std::size_t thread) {
      std::mt19937 random(seed + static_cast<std::uint32_t>(thread));
      for (int round = 0; round < 60; ++round) {
        const std::uint64_t offset = random() % whole.size();
        const std::uint64_t size = random() % (whole.size() - offset) + 1;
        const auto got = read(*view, offset, size);
        if (!got || !std::ranges::equal(*got, std::span(whole).subspan(offset, size))) {
          ++wrong[thread];
        }
      }
    });
    CHECK(wrong == std::vector<int>(12));
  }
}

// Another process writes to the file.  Contradictory state must give an error, not bytes.
TEST_CASE("frame_view: a chunk that changed its size under the view is refused",
          "[fs][frame_view][corrupt]") {
  auto spec = five_chunks();
  spec.chunksize = 0;
  const auto built = test::build_frame(spec);
  const test::TempDirectory folder;
  const auto path = folder.write("frame", built.bytes);
  UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  REQUIRE(fd);
  Mount mount;
  const FrameView view(mount.open(std::make_shared<const FileReader>(std::move(fd))));
  REQUIRE(read(view, 0, 1));
  auto changed = built.bytes;
  test::put_le<std::int32_t>(changed, built.chunk_at[3] + 4, 3600);
  folder.write("frame", changed);
  const auto got = read(view, 12000, 1);
  REQUIRE_FALSE(got);
  CHECK(got.error().kind == Errc::bad_field);
  CHECK(got.error().at == built.chunk_at[3] + 4);
}

// Oracle: the memory of the cache, which cannot evict what a read holds.
TEST_CASE("frame_view: a read holds few dictionaries at a time", "[fs][frame_view][unit]") {
  constexpr std::size_t kChunks = 600;
  test::ChunkSpec chunk;
  chunk.codec = test::Codec::zstd;
  chunk.typesize = 1;
  chunk.dictionary = test::noise(1000, 1);
  test::FrameSpec spec;
  spec.typesize = 1;
  spec.chunksize = 8;
  for (std::uint32_t i = 0; i < kChunks; ++i) {
    spec.chunks.push_back(test::stored_chunk(test::noise(8, i), chunk));
  }
  const auto frame = test::build_frame(spec).bytes;
  constexpr std::uint64_t kBudget = 1u << 20;
  Mount mount(kBudget);
  const auto view = mount.view(frame);
  const auto all = read(*view, 0, 8 * kChunks);
  REQUIRE(all);
  CHECK(*all == decode(frame));
  CHECK(mount.cache().held_bytes() < kBudget + (5u << 20));
}

// Oracle: the work of the request.
TEST_CASE("frame_view: chunks that are one stored chunk have one dictionary",
          "[fs][frame_view][unit]") {
  constexpr std::size_t kChunks = 500;
  test::ChunkSpec chunk;
  chunk.codec = test::Codec::zstd;
  chunk.typesize = 1;
  chunk.dictionary = test::noise(30000, 1);
  test::FrameSpec spec;
  spec.typesize = 1;
  spec.chunksize = 8;
  spec.chunks.push_back(test::stored_chunk(test::noise(8, 1), chunk));
  auto built = test::build_frame(spec);
  // The index has the entry of the only chunk for all.
  const std::vector<std::int64_t> entries(kChunks, 0);
  const auto index = test::build_index_chunk(entries, test::IndexForm::value);
  auto bytes = built.bytes;
  const auto at = [&](std::size_t offset) {
    return bytes.begin() + static_cast<std::ptrdiff_t>(offset);
  };
  const auto grown = index.size() - (built.trailer_at - built.index_at);
  bytes.erase(at(built.index_at), at(built.trailer_at));
  bytes.insert(at(built.index_at), index.begin(), index.end());
  test::put_be(bytes, 16, std::uint64_t{built.bytes.size() + grown});
  test::put_be(bytes, 30, std::int64_t{8 * kChunks});
  Mount mount;
  const auto view = mount.view(bytes);
  codec::WorkBudget budget(2'000'000, {});
  const codec::WorkScope scope(&budget);
  const auto all = read(*view, 0, 8 * kChunks);
  REQUIRE(all);
  for (std::size_t i = 0; i < all->size(); ++i) REQUIRE((*all)[i] == test::noise(8, 1)[i % 8]);
}

// The next admitted reader must find the memory free.  Oracle: no reader is admitted while the
// memory is being released.
TEST_CASE("read_result: the right to memory is given back after the memory",
          "[fs][read_result][race]") {
  DecodeCache cache(100);
  std::future<void> next;
  bool too_early = false;
  ReadResult result;
  result.admission = cache.admissions().admit(100);
  result.owners.emplace_back(std::shared_ptr<const void>(&cache, [&](const void*) {
    next = std::async(std::launch::async,
                      [&cache] { const auto other = cache.admissions().admit(100); });
    too_early = next.wait_for(std::chrono::milliseconds(50)) == std::future_status::ready;
  }));
  {
    const ReadResult gone(std::move(result));
  }
  REQUIRE(next.valid());
  CHECK(next.wait_for(test::kHangs) == std::future_status::ready);
  CHECK_FALSE(too_early);
}

// Oracle: the serial reader.  Very many pieces are copied together, some at a time.
TEST_CASE("frame_view: blocks and chunks of a few bytes are read in any range",
          "[fs][frame_view][unit]") {
  Mount mount;
  test::ChunkSpec chunk;
  chunk.typesize = 1;
  chunk.blocksize = 2;
  test::FrameSpec blocks;
  blocks.typesize = 1;
  blocks.chunksize = 7000;
  blocks.chunks = {test::stored_chunk(test::ramp(7000, 1), chunk),
                   test::stored_chunk(test::ramp(5000, 1, 3), chunk)};
  test::FrameSpec chunks;
  chunks.typesize = 1;
  chunks.chunksize = 3;
  for (std::uint32_t i = 0; i < 4000; ++i) {
    test::ChunkSpec stored;
    stored.codec = test::Codec::memcpy;
    stored.typesize = 1;
    chunks.chunks.push_back(test::stored_chunk(test::noise(3, i), stored));
  }
  for (const auto& spec : {blocks, chunks}) {
    const auto frame = test::build_frame(spec).bytes;
    const auto all = decode(frame);
    const auto view = mount.view(frame);
    std::mt19937 random(5);
    for (int round = 0; round < 20; ++round) {
      const auto at = round == 0 ? 0 : random() % all.size();
      const auto size = round == 0 ? all.size() + 100 : random() % 12000;
      const auto got = read(*view, at, size);
      REQUIRE(got);
      const auto wanted = std::span(all).subspan(at, std::min<std::size_t>(size, all.size() - at));
      REQUIRE(std::ranges::equal(*got, wanted));
    }
    CHECK(view->read(0, all.size(), Access::random)->spans.size() <= 1000);
  }
}

}  // namespace
}  // namespace framefs::fs::frame_view_test
