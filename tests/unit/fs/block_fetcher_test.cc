#include "fs/read/block_fetcher.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <limits>
#include <memory>
#include <random>
#include <thread>
#include <utility>
#include <vector>

#include "codec/chunk/chunk_reader.h"
#include "codec/core/limits.h"
#include "tests/support/catch.h"
#include "tests/support/chunk_builder.h"
#include "tests/support/random_seed.h"
#include "tests/support/sample_data.h"
#include "tests/support/threads.h"
#include "tests/unit/fs/block_sample.h"
#include "tests/unit/fs/shared_source.h"

namespace framefs::fs::block_fetcher_test {
namespace {

using block_sample::damage_block;
using block_sample::Fetching;
using block_sample::kHeaderBytes;
using block_sample::same;
using block_sample::Sample;
using block_sample::spec_of;
using codec::Errc;

// The same chunk with its blocks stored in the given order.
test::Bytes reorder_blocks(const test::Bytes& chunk, const std::vector<std::size_t>& order) {
  const std::size_t area = kHeaderBytes + 4 * order.size();
  std::vector<std::size_t> starts;
  for (std::size_t i = 0; i < order.size(); ++i) {
    std::size_t start = 0;
    for (std::size_t k = 4; k-- > 0;) {
      start = start << 8 | std::to_integer<std::size_t>(chunk[kHeaderBytes + 4 * i + k]);
    }
    starts.push_back(start);
  }
  starts.push_back(chunk.size());
  test::Bytes out(chunk.begin(), chunk.begin() + static_cast<std::ptrdiff_t>(area));
  for (const auto block : order) {
    test::put_le(out, kHeaderBytes + 4 * block, static_cast<std::int32_t>(out.size()));
    test::append(out, std::span(chunk).subspan(starts[block], starts[block + 1] - starts[block]));
  }
  return out;
}

TEST_CASE("block_fetcher: blocks come in the order asked for", "[fs][block_fetcher][unit]") {
  Sample sample;
  sample.add(test::ramp(10000, 4), spec_of(1024, {test::Filter::shuffle}));
  sample.add(test::ramp(5000, 4, 2), spec_of(512));
  sample.open();
  Fetching fetching;
  const std::vector<std::pair<std::size_t, std::size_t>> order = {{1, 9}, {0, 9}, {0, 0}, {1, 0},
                                                                  {0, 0}, {0, 5}, {1, 9}};
  std::vector<BlockRequest> requests;
  for (const auto& [chunk, block] : order) requests.push_back(sample.request(chunk, block));
  const auto blocks = fetching.fetch(sample, requests);
  REQUIRE(blocks);
  REQUIRE(blocks->size() == order.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    INFO("request " << i);
    CHECK(same((*blocks)[i], sample.block(order[i].first, order[i].second)));
  }
  CHECK((*blocks)[2] == (*blocks)[4]);  // the same block, decoded once
  const auto nothing = fetching.fetch(sample, {});
  REQUIRE(nothing);
  CHECK(nothing->empty());
}

// Oracle: the recorded reads.  Each stored block is read once, whatever the number of threads.
TEST_CASE("block_fetcher: blocks are decoded once when many threads ask for them",
          "[fs][block_fetcher][race]") {
  Sample sample;
  sample.add(test::noise(64 * 1024, 1), spec_of(1024));
  sample.open();
  std::uint64_t stored = 0;
  for (std::size_t block = 0; block < 64; ++block) stored += sample.stored(0, block).size;
  for (int round = 0; round < 20; ++round) {
    Fetching fetching;
    std::vector<BlockFetcher::Block> first_blocks(8);
    std::vector<int> wrong(8);
    test::on_threads(8, [&](std::size_t i) {
      const auto blocks = fetching.fetch(sample, sample.requests(0, 0, 64));
      if (!blocks) ++wrong[i];
      if (!blocks) return;
      first_blocks[i] = blocks->front();
      for (std::size_t block = 0; block < 64; ++block) {
        if (!same((*blocks)[block], sample.block(0, block))) ++wrong[i];
      }
    });
    CHECK(wrong == std::vector<int>(8));
    for (const auto& block : first_blocks) CHECK(block == first_blocks[0]);
    CHECK(sample.take_read_bytes() == stored);
    CHECK(fetching.cache.held_bytes() == 64 * (1024 + DecodeCache::kOverheadBytes));
  }
}

// Oracle: the recorded reads.  Blocks that were fetched ahead are not read again.
TEST_CASE("block_fetcher: blocks that were fetched ahead are in the cache",
          "[fs][block_fetcher][unit]") {
  Sample sample;
  sample.add(test::ramp(1u << 20, 4), spec_of(64 << 10, {test::Filter::shuffle}));
  sample.add(test::ramp(40000, 4, 3), spec_of(8192, {test::Filter::delta}));
  sample.open();
  for (std::size_t chunk = 0; chunk < sample.chunk_count(); ++chunk) {
    INFO("chunk " << chunk);
    Fetching fetching;
    const auto requests = sample.requests(chunk, 0, sample.chunk(chunk).block_count());
    const auto some = std::span(requests).subspan(1, 3);
    REQUIRE(fetching.fetcher.fetch_ahead(sample.source(), some));
    CHECK_FALSE(sample.source().take_reads().empty());
    const auto blocks = fetching.fetch(sample, some);
    REQUIRE(blocks);
    for (std::size_t i = 0; i < some.size(); ++i) {
      CHECK(same((*blocks)[i], sample.block(chunk, i + 1)));
    }
    CHECK(sample.source().take_reads().empty());
    REQUIRE(fetching.fetcher.fetch_ahead(sample.source(), requests));
    static_cast<void>(sample.source().take_reads());
    REQUIRE(fetching.fetcher.fetch_ahead(sample.source(), requests));
    CHECK(sample.source().take_reads().empty());
  }
}

TEST_CASE("block_fetcher: fetching ahead waits for no other thread", "[fs][block_fetcher][unit]") {
  Sample sample;
  sample.add(test::ramp(8192, 4), spec_of(1024));
  sample.open();
  Fetching fetching;
  const auto requests = sample.requests(0, 0, 8);
  auto held = fetching.cache.claim(requests[3].key(), 1024);
  REQUIRE(held.ours);
  CHECK(fetching.fetcher.fetch_ahead(sample.source(), requests));
  std::uint64_t stored = 0;
  for (std::size_t block = 0; block < 8; ++block) {
    stored += block == 3 ? 0 : sample.stored(0, block).size;
  }
  CHECK(sample.take_read_bytes() == stored);
}

TEST_CASE("block_fetcher: nothing is fetched ahead where others need the room",
          "[fs][block_fetcher][unit]") {
  Sample sample;
  sample.add(test::ramp(8192, 4), spec_of(1024));
  sample.open();
  Fetching fetching(10'000);
  const auto requests = sample.requests(0, 0, 2);
  {
    const auto admission = fetching.cache.admissions().admit(4000);
    CHECK_FALSE(fetching.fetcher.fetch_ahead(sample.source(), requests));
    CHECK(sample.source().take_reads().empty());
  }
  CHECK(fetching.fetcher.fetch_ahead(sample.source(), requests));
}

// Such waits show that the CPUs are busy.
TEST_CASE(
    "block_fetcher: after a long wait for another's block nothing is fetched ahead for a while",
    "[fs][block_fetcher][race]") {
  Sample sample;
  sample.add(test::ramp(8192, 4), spec_of(1024));
  sample.open();
  Fetching fetching;
  const auto requests = sample.requests(0, 0, 8);
  auto held = fetching.cache.claim(requests[3].key(), 1024);
  REQUIRE(held.ours);
  bool is_fetched = false;
  test::on_threads(2, [&](std::size_t thread) {
    if (thread == 0) {
      is_fetched = fetching.fetch(sample, requests).has_value();
      return;
    }
    // The other thread decodes the blocks that are not held, and then waits.
    static_cast<void>(test::comes_true([&] { return fetching.cache.held_bytes() > 7 * 1024; }));
    const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(200);
    std::this_thread::sleep_until(end);
    held.ours->publish(std::make_shared<const Bytes>(fetching.buffers, 1024), 1024);
  });
  CHECK(is_fetched);
  const auto begin = std::chrono::steady_clock::now();
  CHECK_FALSE(fetching.fetcher.fetch_ahead(sample.source(), requests));
  CHECK(test::comes_true([&] { return fetching.fetcher.fetch_ahead(sample.source(), requests); }));
  CHECK(std::chrono::steady_clock::now() - begin > std::chrono::milliseconds(200));
}

TEST_CASE("block_fetcher: a block that failed ahead fails for its reader",
          "[fs][block_fetcher][corrupt]") {
  Sample sample;
  sample.add(test::ramp(8192, 4), spec_of(1024));
  damage_block(sample, sample.at(0), 2);
  sample.open();
  Fetching fetching;
  const auto requests = sample.requests(0, 0, 8);
  CHECK(fetching.fetcher.fetch_ahead(sample.source(), requests));
  CHECK_FALSE(fetching.fetch(sample, requests));
  static_cast<void>(sample.source().take_reads());
  const auto others = fetching.fetch(sample, std::span(requests).subspan(3));
  REQUIRE(others);
  CHECK(same(others->back(), sample.block(0, 7)));
  CHECK(sample.source().take_reads().empty());
}

TEST_CASE("block_fetcher: adjacent blocks are read at once", "[fs][block_fetcher][unit]") {
  Sample sample;
  sample.add(test::ramp(8192, 4), spec_of(1024));
  sample.open();
  const auto from_to = [&](std::size_t first, std::size_t last) {
    const auto begin = sample.stored(0, first).offset;
    const auto end = sample.stored(0, last);
    return ByteRange{begin, end.offset + end.size - begin};
  };
  {
    Fetching fetching;
    REQUIRE(fetching.fetch(sample, sample.requests(0, 0, 8)));
    CHECK(sample.source().take_reads() == std::vector{from_to(0, 7)});
  }
  {
    Fetching fetching;
    REQUIRE(fetching.fetch(
        sample, std::vector{sample.request(0, 4), sample.request(0, 1), sample.request(0, 0)}));
    auto reads = sample.source().take_reads();
    std::ranges::sort(reads);
    CHECK(reads == std::vector{from_to(0, 1), from_to(4, 4)});
    // Blocks in the cache are not read again, and their neighbours do not become adjacent.
    REQUIRE(fetching.fetch(sample, sample.requests(0, 0, 8)));
    reads = sample.source().take_reads();
    std::ranges::sort(reads);
    CHECK(reads == std::vector{from_to(2, 3), from_to(5, 7)});
  }
}

// Long runs are split so that several threads can work.  Oracle: all bytes are read, none twice,
// and no read is much longer than a run.
TEST_CASE("block_fetcher: long runs are cut in parts", "[fs][block_fetcher][unit]") {
  Sample sample;
  sample.add(test::noise(1 << 20, 1), spec_of(16 << 10));
  sample.open();
  Fetching fetching;
  REQUIRE(fetching.fetch(sample, sample.requests(0, 0, 64)));
  auto reads = sample.source().take_reads();
  std::ranges::sort(reads);
  CHECK(reads.size() > 4);
  std::uint64_t at = sample.stored(0, 0).offset;
  for (const auto& read : reads) {
    CHECK(read.offset == at);
    CHECK(read.size <= 256u << 10);
    at += read.size;
  }
  CHECK(at == sample.bytes().size());
}

TEST_CASE("block_fetcher: blocks may be stored in any order", "[fs][block_fetcher][unit]") {
  const auto seed = test::random_seed();
  CAPTURE(seed);
  std::mt19937 random(seed);
  for (int round = 0; round < 20; ++round) {
    const auto data = test::ramp(8000, 4);
    std::vector<std::size_t> order = {0, 1, 2, 3, 4, 5, 6, 7};
    std::ranges::shuffle(order, random);
    Sample sample;
    sample.add(
        reorder_blocks(test::build_chunk(data, spec_of(1000, {test::Filter::shuffle})), order),
        data);
    sample.open();
    Fetching fetching;
    const auto blocks = fetching.fetch(sample, sample.requests(0, 0, 8));
    REQUIRE(blocks);
    for (std::size_t block = 0; block < 8; ++block) {
      CHECK(same((*blocks)[block], sample.block(0, block)));
    }
    CHECK(sample.source().take_reads().size() == 1);  // the stored blocks are adjacent nonetheless
  }
}

// Oracle: the data and the reads.  Block 0 is fetched once, together with the others.
TEST_CASE("block_fetcher: delta chunks are decoded with their first block",
          "[fs][block_fetcher][unit]") {
  Sample sample;
  sample.add(test::ramp(8192, 4), spec_of(1024, {test::Filter::delta, test::Filter::shuffle}));
  sample.add(test::ramp(8192, 4, 9), spec_of(1024, {test::Filter::delta, test::Filter::shuffle}));
  sample.open();
  REQUIRE(sample.chunk(0).needs_first_block());
  Fetching fetching;
  const std::vector requests{sample.request(0, 5), sample.request(1, 2), sample.request(0, 6),
                             sample.request(1, 0), sample.request(0, 7)};
  const auto blocks = fetching.fetch(sample, requests);
  REQUIRE(blocks);
  for (std::size_t i = 0; i < requests.size(); ++i) {
    INFO("request " << i);
    CHECK(same((*blocks)[i], sample.block(requests[i].chunk_index.value, requests[i].block.value)));
  }
  for (const auto& read : sample.source().take_reads()) {
    if (read.offset == sample.stored(0, 0).offset) continue;
    CHECK((read.offset > sample.stored(0, 0).offset));
  }
  REQUIRE(fetching.fetch(sample, sample.requests(0, 1, 2)));
  const auto later = sample.source().take_reads();
  REQUIRE(later.size() == 1);
  CHECK(later[0].offset == sample.stored(0, 1).offset);
}

TEST_CASE("block_fetcher: a damaged block is named, and its neighbours stay usable",
          "[fs][block_fetcher][corrupt]") {
  Sample sample;
  sample.add(test::ramp(8192, 4, 1), spec_of(1024));
  sample.add(test::ramp(8192, 4, 2), spec_of(1024));
  damage_block(sample, sample.at(1), 3);
  sample.open();
  Fetching fetching;
  std::vector<BlockRequest> all = sample.requests(0, 0, 8);
  for (const auto& request : sample.requests(1, 0, 8)) all.push_back(request);
  const auto failed = fetching.fetch(sample, all);
  REQUIRE_FALSE(failed);
  CHECK(failed.error().chunk.value == 1);
  CHECK(failed.error().error.kind == Errc::truncated);
  const auto bad = sample.stored(1, 3);
  CHECK(failed.error().error.at >= bad.offset);
  CHECK(failed.error().error.at < bad.offset + bad.size);

  static_cast<void>(sample.source().take_reads());
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (i == 8 + 3) continue;
    const auto one = fetching.fetch(sample, std::span(all).subspan(i, 1));
    REQUIRE(one);
    CHECK(same(one->front(), sample.block(i / 8, i % 8)));
  }
  CHECK(sample.source().take_reads().empty());  // decoded together with the damaged one, and kept
  CHECK_FALSE(fetching.fetch(sample, sample.requests(1, 3, 1)));
  CHECK(sample.source().take_reads() == std::vector{bad});  // failures are not cached
  CHECK(fetching.cache.held_bytes() == 15 * (1024 + DecodeCache::kOverheadBytes));
}

TEST_CASE("block_fetcher: a wrong block start is named with its place in the source",
          "[fs][block_fetcher][corrupt]") {
  Sample sample;
  sample.add(test::ramp(4096, 4, 1), spec_of(1024));
  sample.add(test::ramp(4096, 4, 2), spec_of(1024));
  const auto field = sample.at(1) + kHeaderBytes + 4 * 2;
  test::put_le<std::int32_t>(sample.bytes(), field, 5);
  sample.open();
  Fetching fetching;
  const auto failed = fetching.fetch(sample, sample.requests(1, 0, 4));
  REQUIRE_FALSE(failed);
  CHECK(failed.error().chunk.value == 1);
  CHECK(failed.error().error.kind == Errc::bad_field);
  CHECK(failed.error().error.at == field);
  CHECK(failed.error().error.value == 5);
  const auto good = fetching.fetch(sample, sample.requests(1, 3, 1));
  REQUIRE(good);
  CHECK(same(good->front(), sample.block(1, 3)));
}

TEST_CASE("block_fetcher: a damaged first block fails only the blocks that depend on it",
          "[fs][block_fetcher][corrupt]") {
  Sample sample;
  sample.add(test::ramp(4096, 4, 1), spec_of(1024));
  sample.add(test::ramp(4096, 4, 2), spec_of(1024, {test::Filter::delta}));
  damage_block(sample, sample.at(1), 0);
  sample.open();
  Fetching fetching;
  const auto failed = fetching.fetch(sample, sample.requests(1, 2, 1));
  REQUIRE_FALSE(failed);
  CHECK(failed.error().chunk.value == 1);
  CHECK(failed.error().error.at >= sample.stored(1, 0).offset);
  CHECK(fetching.fetch(sample, sample.requests(0, 2, 1)));
  CHECK(fetching.cache.held_bytes() == 1024 + DecodeCache::kOverheadBytes);
}

// The file was truncated after the chunk was opened.  Oracle: the blocks before the end are
// correct.
TEST_CASE("block_fetcher: a source that ends early fails only the blocks behind its end",
          "[fs][block_fetcher][corrupt]") {
  Sample sample;
  sample.add(test::noise(8192, 1), spec_of(1024));
  sample.open();
  const auto cut = sample.stored(0, 5).offset + 10;
  const test::SharedSource shorter(test::Bytes(
      sample.bytes().begin(), sample.bytes().begin() + static_cast<std::ptrdiff_t>(cut)));
  Fetching fetching;
  const auto failed = fetching.fetcher.fetch(shorter, sample.requests(0, 0, 8));
  REQUIRE_FALSE(failed);
  CHECK(failed.error().error.kind == Errc::truncated);
  CHECK(failed.error().error.at == sample.stored(0, 5).offset);
  static_cast<void>(shorter.take_reads());
  const auto before = fetching.fetcher.fetch(shorter, sample.requests(0, 0, 5));
  REQUIRE(before);
  for (std::size_t block = 0; block < 5; ++block) {
    CHECK(same((*before)[block], sample.block(0, block)));
  }
  CHECK(shorter.take_reads().empty());
}

// Oracle: every thread fails, none hangs, and none gets a block.
TEST_CASE("block_fetcher: all threads that wait for a damaged block get the error",
          "[fs][block_fetcher][race]") {
  Sample sample;
  sample.add(test::ramp(65536, 4, 1), spec_of(1024));
  damage_block(sample, 0, 40);
  sample.open();
  for (int round = 0; round < 20; ++round) {
    Fetching fetching;
    std::vector<Errc> kinds(8, Errc::internal);
    test::on_threads(8, [&](std::size_t i) {
      const auto blocks = fetching.fetch(sample, sample.requests(0, 0, 64));
      if (!blocks) kinds[i] = blocks.error().error.kind;
    });
    CHECK(std::ranges::all_of(kinds, [](Errc kind) { return kind == Errc::truncated; }));
    CHECK(fetching.cache.held_bytes() == 63 * (1024 + DecodeCache::kOverheadBytes));
  }
}

TEST_CASE("block_fetcher: needed bytes are those that the cache will count",
          "[fs][block_fetcher][unit]") {
  Sample sample;
  sample.add(test::ramp(2500, 4), spec_of(1000));
  sample.add(test::ramp(2500, 4), spec_of(1000, {test::Filter::delta}));
  sample.open();
  constexpr auto kOverhead = DecodeCache::kOverheadBytes;
  CHECK(needed_bytes({}) == 0);
  CHECK(needed_bytes(sample.requests(0, 0, 3)) == 2500 + 3 * kOverhead);
  CHECK(needed_bytes(sample.requests(0, 2, 1)) == 500 + kOverhead);
  CHECK(needed_bytes(sample.requests(1, 0, 1)) == 1000 + kOverhead);
  CHECK(needed_bytes(sample.requests(1, 2, 1)) == 1500 + 2 * kOverhead);
  for (const std::size_t chunk : {0U, 1U}) {
    Fetching fetching;
    const auto requests = sample.requests(chunk, 1, 2);
    REQUIRE(fetching.fetch(sample, requests));
    CHECK(fetching.cache.held_bytes() <= needed_bytes(requests));
  }
}

test::ChunkSpec random_spec(std::mt19937& random) {
  using test::Filter;
  constexpr std::array kCodecs = {test::Codec::lz4, test::Codec::zlib, test::Codec::zstd};
  const std::vector<std::vector<Filter>> kFilters = {{},
                                                     {Filter::shuffle},
                                                     {Filter::bitshuffle},
                                                     {Filter::delta},
                                                     {Filter::delta, Filter::shuffle}};
  test::ChunkSpec spec;
  spec.codec = kCodecs[random() % kCodecs.size()];
  spec.typesize = 1u << random() % 4;
  spec.blocksize = spec.typesize * (test::draw(random) % 200 + 1);
  spec.filters = kFilters[random() % kFilters.size()];
  spec.split = random() % 2 == 0;
  return spec;
}

// Oracle: a serial reader, which shares none of this code, and the data.
TEST_CASE("block_fetcher: the parallel decode equals the serial one", "[fs][block_fetcher][race]") {
  const auto seed = test::random_seed();
  CAPTURE(seed);
  std::mt19937 random(seed);
  Sample sample;
  for (int i = 0; i < 12; ++i) {
    const auto spec = random_spec(random);
    sample.add(test::ramp(spec.typesize * (random() % 2000 + 1), spec.typesize, test::draw(random)),
               spec);
  }
  sample.open();
  // Room for only some of the blocks, so that blocks are evicted and decoded again.
  Fetching fetching(20'000, 3);
  std::vector<int> wrong(6);
  test::on_threads(wrong.size(), [&](std::size_t thread) {
    std::mt19937 own(seed + static_cast<std::uint32_t>(thread) + 1);
    for (int round = 0; round < 100; ++round) {
      std::vector<BlockRequest> requests;
      for (std::size_t i = own() % 10 + 1; i-- > 0;) {
        const std::size_t chunk = own() % sample.chunk_count();
        requests.push_back(sample.request(chunk, own() % sample.chunk(chunk).block_count()));
      }
      const auto admission = fetching.cache.admissions().admit(needed_bytes(requests));
      const auto blocks = fetching.fetch(sample, requests);
      if (!blocks) {
        ++wrong[thread];
        continue;
      }
      for (std::size_t i = 0; i < requests.size(); ++i) {
        const auto chunk = requests[i].chunk_index.value;
        const auto range = sample.chunk(chunk).block_range(requests[i].block);
        test::Bytes serial(range.size);
        codec::ChunkReader reader(sample.source(), sample.chunk(chunk));
        if (!reader.read(range.offset, serial) || !same((*blocks)[i], serial) ||
            !same((*blocks)[i], sample.block(chunk, requests[i].block.value))) {
          ++wrong[thread];
        }
      }
    }
  });
  CHECK(wrong == std::vector<int>(6));
}

}  // namespace
}  // namespace framefs::fs::block_fetcher_test
