#include "fs/read/range_plan.h"

#include <random>

#include "codec/core/byte_source.h"
#include "codec/core/limits.h"
#include "tests/support/catch.h"
#include "tests/support/chunk_builder.h"
#include "tests/support/random_seed.h"
#include "tests/support/sample_data.h"

namespace framefs::fs::range_plan_test {
namespace {

codec::Chunk open_chunk(const test::Bytes& stored) {
  const codec::MemorySource source(stored);
  auto chunk = codec::Chunk::open(source, 0, stored.size(), {}, codec::Limits{});
  REQUIRE(chunk);
  REQUIRE(chunk->body() == codec::ChunkBody::blocks);
  return std::move(*chunk);
}

codec::Chunk fixed_chunk(std::size_t nbytes, std::uint32_t blocksize) {
  test::ChunkSpec spec;
  spec.typesize = 1;
  spec.blocksize = blocksize;
  return open_chunk(test::build_chunk(test::noise(nbytes, 1), spec));
}

codec::Chunk vl_chunk(const std::vector<std::uint32_t>& blocks) {
  std::size_t nbytes = 0;
  for (const auto block : blocks) nbytes += block;
  test::ChunkSpec spec;
  spec.typesize = 1;
  spec.vl_block_bytes = blocks;
  return open_chunk(test::build_chunk(test::noise(nbytes, 1), spec));
}

// Oracle: the rule itself.  The pieces cover the range without gaps, and each lies in its block.
void check_plan(const codec::Chunk& chunk, ByteRange wanted) {
  INFO("range " << wanted.offset << " + " << wanted.size << " of " << chunk.nbytes());
  const auto pieces = plan_blocks(chunk, wanted);
  std::uint64_t at = wanted.offset;
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    const auto& [block, within] = pieces[i];
    const auto range = chunk.block_range(block);
    INFO("piece " << i);
    REQUIRE(within.size > 0);
    REQUIRE(within.offset < range.size);
    REQUIRE(within.size <= range.size - within.offset);
    REQUIRE(range.offset + within.offset == at);
    if (i > 0) REQUIRE(block.value == pieces[i - 1].block.value + 1);
    at += within.size;
  }
  CHECK(at == wanted.offset + wanted.size);
}

TEST_CASE("range_plan: borders of blocks are borders of pieces", "[fs][range_plan][unit]") {
  const auto chunk = fixed_chunk(25, 10);
  struct Row {
    ByteRange wanted;
    std::vector<std::uint64_t> blocks;
  };
  for (const auto& row : {Row{{0, 1}, {0}}, Row{{9, 1}, {0}}, Row{{10, 1}, {1}}, Row{{0, 10}, {0}},
                          Row{{0, 11}, {0, 1}}, Row{{9, 2}, {0, 1}}, Row{{10, 10}, {1}},
                          Row{{24, 1}, {2}}, Row{{20, 5}, {2}}, Row{{0, 25}, {0, 1, 2}}}) {
    check_plan(chunk, row.wanted);
    std::vector<std::uint64_t> blocks;
    for (const auto& piece : plan_blocks(chunk, row.wanted)) blocks.push_back(piece.block.value);
    CHECK(blocks == row.blocks);
  }
}

TEST_CASE("range_plan: random ranges are covered without gap or overlap",
          "[fs][range_plan][unit]") {
  const auto seed = test::random_seed();
  CAPTURE(seed);
  std::mt19937 random(seed);
  for (int round = 0; round < 200; ++round) {
    const std::size_t nbytes = random() % 2000 + 1;
    const auto fixed = fixed_chunk(nbytes, static_cast<std::uint32_t>(random() % nbytes + 1));
    std::vector<std::uint32_t> sizes(random() % 20 + 1);
    for (auto& size : sizes) size = test::draw(random) % 50 + 1;
    const auto vl = vl_chunk(sizes);
    for (const auto* chunk : {&fixed, &vl}) {
      const std::uint64_t offset = random() % chunk->nbytes();
      check_plan(*chunk, {offset, random() % (chunk->nbytes() - offset) + 1});
    }
  }
}

}  // namespace
}  // namespace framefs::fs::range_plan_test
