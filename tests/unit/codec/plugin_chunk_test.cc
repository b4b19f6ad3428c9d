// Chunks written by plugins: the properties of the frame that they need, and errors if these are
// missing.
#include <array>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "codec/chunk/chunk.h"
#include "codec/chunk/chunk_context.h"
#include "codec/compressor/zfp.h"
#include "tests/support/catch.h"
#include "tests/support/chunk_builder.h"
#include "tests/support/damage.h"
#include "tests/support/decode_oracle.h"
#include "tests/support/ndlz_encoder.h"
#include "tests/support/outcome.h"
#include "tests/support/random_seed.h"
#include "tests/support/sample_data.h"

namespace framefs::codec::plugin_chunk_test {
namespace {

using test::build_chunk;
using test::Bytes;
using test::CellFilter;
using test::ChunkSpec;
using test::Codec;
using test::Filter;
using test::outcome;
using test::ramp;

constexpr std::size_t kPluginIdAt = 22;
constexpr std::size_t kPluginMetaAt = 23;

ChunkContext context_of(std::uint32_t typesize, std::vector<std::uint32_t> dims) {
  BlockShape shape{.ndim = static_cast<std::uint8_t>(dims.size())};
  for (std::size_t i = 0; i < dims.size(); ++i) shape.dims.at(i) = dims[i];
  return {.schunk_typesize = typesize, .block_shape = shape};
}

Result<Bytes> decode(const Bytes& bytes, const ChunkContext& context) {
  const MemorySource source(bytes);
  FRAMEFS_TRY(const auto chunk, Chunk::open(source, 0, bytes.size(), context, Limits{}));
  return test::decode_whole(source, chunk);
}

// Oracle: the bytes that went in, compared as a whole, by blocks and by ranges.
void check_round_trip(const Bytes& data, const Bytes& bytes, const ChunkContext& context) {
  const MemorySource source(bytes);
  const auto chunk = Chunk::open(source, 0, bytes.size(), context, Limits{});
  INFO(outcome(chunk));
  REQUIRE(chunk);
  const auto whole = test::decode_whole(source, *chunk);
  INFO(outcome(whole));
  REQUIRE(whole);
  CHECK(*whole == data);
  CHECK(test::decode_by_blocks(source, *chunk) == data);
  const auto seed = test::random_seed();
  CAPTURE(seed);
  std::mt19937 random(seed);
  CHECK(test::subranges_agree(source, *chunk, data, random, 20));
}

// Three blocks of 12 by 10 items of 4 bytes, with ndcell and then a shuffle.
ChunkSpec cell_spec() {
  ChunkSpec spec;
  spec.codec = Codec::zstd;
  spec.blocksize = 480;
  spec.filters = {Filter::shuffle};
  spec.cells = CellFilter{.side = 5, .block_shape = {12, 10}};
  return spec;
}

Bytes cell_chunk() { return build_chunk(ramp(1440, 4), cell_spec()); }

// Two blocks of 9 by 14 items, split into byte planes for NDLZ.
Bytes plane_data(std::uint32_t typesize) {
  std::mt19937 random(1);
  Bytes data;
  for (std::uint32_t i = 0; i < 2 * typesize; ++i) {
    test::append(data, test::repetitive_plane({9, 14}, random));
  }
  return data;
}

Bytes ndlz_chunk(std::uint8_t side, std::uint32_t typesize) {
  ChunkSpec spec;
  spec.typesize = typesize;
  spec.blocksize = 9 * 14 * typesize;
  if (typesize > 1) spec.filters = {Filter::shuffle};
  spec.split = true;
  spec.plugin = {.id = 32, .meta = side, .encode = [side](std::span<const std::byte> plane) {
                   std::mt19937 random(2);
                   return test::encode_ndlz(plane, {9, 14}, side, random);
                 }};
  return build_chunk(plane_data(typesize), spec);
}

TEST_CASE("plugin chunk: ndcell comes back with the frame's block shape",
          "[codec][chunk][ndcell][unit]") {
  check_round_trip(ramp(1440, 4), cell_chunk(), context_of(4, {12, 10}));
}

TEST_CASE("plugin chunk: ndcell comes back where items are larger than the header can say",
          "[codec][chunk][ndcell][unit]") {
  ChunkSpec spec;
  spec.typesize = 300;
  spec.blocksize = 6000;
  spec.cells = CellFilter{.side = 3, .block_shape = {4, 5}};
  const Bytes data = ramp(12'000, 300);
  check_round_trip(data, build_chunk(data, spec), context_of(300, {4, 5}));
}

TEST_CASE("plugin chunk: ndlz comes back, whole or split, and needs no frame",
          "[codec][chunk][ndlz][unit]") {
  for (const std::uint8_t side : {std::uint8_t{4}, std::uint8_t{8}}) {
    for (const std::uint32_t typesize : {1U, 4U}) {
      INFO("cells of " << int{side} << ", typesize " << typesize);
      check_round_trip(plane_data(typesize), ndlz_chunk(side, typesize), {});
      check_round_trip(plane_data(typesize), ndlz_chunk(side, typesize),
                       context_of(typesize, {9, 14}));
    }
  }
}

TEST_CASE(
    "plugin chunk: a chunk that needs no codec and no filter is read whatever the header names",
    "[codec][chunk][unit]") {
  const Bytes data = ramp(1000, 4);
  ChunkSpec spec;
  spec.codec = Codec::memcpy;
  Bytes plain = build_chunk(data, spec);
  Bytes zeros = test::build_special_chunk(test::SpecialKind::zero, 1000, 4);
  for (Bytes* bytes : {&plain, &zeros}) {
    (*bytes)[2] |= std::byte{6 << 5};
    (*bytes)[kPluginIdAt] = std::byte{36};
    (*bytes)[16] = std::byte{32};
    (*bytes)[21] = std::byte{200};
  }
  CHECK(decode(plain, {}) == data);
  CHECK(decode(zeros, {}) == Bytes(1000));
}

TEST_CASE("plugin chunk: a filter that needs an array is refused without one",
          "[codec][chunk][ndcell][corrupt]") {
  CHECK(outcome(decode(cell_chunk(), {})) == "bad field: cell filter without an array at 20");
  CHECK(outcome(decode(cell_chunk(), {.schunk_typesize = 4})) ==
        "bad field: cell filter without an array at 20");
}

TEST_CASE("plugin chunk: an array whose blocks are not the chunk's is refused",
          "[codec][chunk][ndcell][corrupt]") {
  const std::string refused = "bad field: block size of a cell filter at 0";
  CHECK(outcome(decode(cell_chunk(), context_of(4, {12, 11}))) == refused);
  CHECK(outcome(decode(cell_chunk(), context_of(8, {12, 10}))) == refused);
  CHECK(outcome(decode(cell_chunk(), context_of(4, {1440}))) == refused);
  // The product is equal to the block's size in 32 bits.
  CHECK(outcome(decode(cell_chunk(), context_of(4, {(1U << 30) + 1, 120}))) ==
        "bad field: block shape of a cell filter at 20");
}

TEST_CASE("plugin chunk: a short last block is refused by filters of whole ones",
          "[codec][chunk][ndcell][corrupt]") {
  auto spec = cell_spec();
  spec.cells.reset();
  Bytes bytes = build_chunk(ramp(1000, 4), spec);
  bytes[20] = std::byte{32};
  bytes[28] = std::byte{5};
  const MemorySource source(bytes);
  const auto chunk = Chunk::open(source, 0, bytes.size(), context_of(4, {12, 10}), Limits{});
  REQUIRE(chunk);
  CHECK(outcome(test::decode_whole(source, *chunk)) ==
        "bad field: block size of a cell filter at 0");
}

TEST_CASE("plugin chunk: hostile cell filters are refused when the chunk is opened",
          "[codec][chunk][ndcell][ndmean][corrupt]") {
  struct Row {
    std::uint8_t id;
    std::uint8_t side;
    std::vector<std::uint32_t> dims;
    std::string expect;
  };
  for (const auto& [id, side, dims, expect] :
       {Row{32, 0, {12, 10}, "cell side at 28"}, Row{33, 0, {12, 10}, "cell side at 28"},
        Row{33, 0x80, {12, 10}, "cell side at 28"}, Row{33, 0xFF, {12, 10}, "cell side at 28"},
        Row{32, 0xFF, {12, 10}, "cell side at 28"}, Row{32, 1, {}, "ndim of a cell filter at 20"},
        Row{33, 1, {}, "ndim of a cell filter at 20"},
        Row{32, 1, std::vector<std::uint32_t>(9, 1), "ndim of a cell filter at 20"},
        Row{33, 1, std::vector<std::uint32_t>(16, 1), "ndim of a cell filter at 20"},
        Row{32, 1, {0, 10}, "block shape of a cell filter at 20"},
        Row{33, 1, {1U << 16, 1U << 16}, "block shape of a cell filter at 20"}}) {
    INFO("filter " << int{id} << ", side " << int{side} << ", " << dims.size() << " dimensions");
    Bytes bytes = cell_chunk();
    bytes[20] = static_cast<std::byte>(id);
    bytes[28] = static_cast<std::byte>(side);
    CHECK(outcome(decode(bytes, context_of(4, dims))) == "bad field: " + expect);
  }
}

// A chunk that claims to have a plugin's streams but does not.
Bytes chunk_of_plugin(const Bytes& data, int id) {
  ChunkSpec spec;
  spec.codec = Codec::zstd;
  spec.filters = {Filter::shuffle};
  Bytes bytes = build_chunk(data, spec);
  bytes[2] = std::byte{0xD5};
  bytes[kPluginIdAt] = static_cast<std::byte>(id);
  return bytes;
}

TEST_CASE("plugin chunk: streams that are stored as they are need no codec",
          "[codec][chunk][unit]") {
  const auto seed = test::random_seed();
  CAPTURE(seed);
  std::mt19937 random(seed);
  Bytes noise(4000);
  for (auto& byte : noise) byte = static_cast<std::byte>(random());
  CHECK(decode(chunk_of_plugin(noise, 176), {}) == noise);
}

TEST_CASE("plugin chunk: a codec that is missing is named", "[codec][chunk][corrupt]") {
  Bytes bytes = chunk_of_plugin(ramp(4000, 4), 36);
  for (const auto& [id, name] : {std::pair{36, "codec openhtj2k"},
                                 {37, "codec grok"},
                                 {38, "codec openzl"},
                                 {39, "codec j2k"},
                                 {40, "codec htj2k"},
                                 {99, "registered codec"},
                                 {176, "user codec"}}) {
    bytes[kPluginIdAt] = static_cast<std::byte>(id);
    const auto decoded = decode(bytes, {});
    CHECK(outcome(decoded).starts_with(std::string("unsupported: ") + name + " at "));
    REQUIRE_FALSE(decoded);
    CHECK(decoded.error().value == id);
  }
}

TEST_CASE("plugin chunk: a plugin in a header without room for its id is refused",
          "[codec][chunk][corrupt]") {
  ChunkSpec spec;
  spec.blosc1_header = true;
  Bytes bytes = build_chunk(ramp(1000, 4), spec);
  bytes[2] = static_cast<std::byte>((std::to_integer<unsigned>(bytes[2]) & 0x1FU) | 6U << 5);
  CHECK(outcome(decode(bytes, {})) == "unsupported: plugin codec without an id at 2");
}

TEST_CASE("plugin chunk: an ndlz parameter that is no cell side is refused",
          "[codec][chunk][ndlz][corrupt]") {
  Bytes bytes = ndlz_chunk(4, 1);
  bytes[kPluginMetaAt] = std::byte{5};
  CHECK(outcome(decode(bytes, {})) == "bad field: cell side of ndlz at 23");
}

TEST_CASE("plugin chunk: zfp is refused without an array", "[codec][chunk][zfp][corrupt]") {
  for (const int id : {33, 34, 35}) {
    Bytes bytes = cell_chunk();
    bytes[2] = std::byte{0xD5};
    bytes[kPluginIdAt] = static_cast<std::byte>(id);
    const auto decoded = decode(bytes, {.schunk_typesize = 4});
    REQUIRE_FALSE(decoded);
    CHECK(decoded.error().kind == (has_zfp() ? Errc::bad_field : Errc::unsupported));
    if (has_zfp()) CHECK(decoded.error().at == 22);
  }
}

// Oracle: see chunk_misbehaviour().
TEST_CASE("plugin chunk: damage is refused or decodes to the declared size",
          "[codec][chunk][corrupt]") {
  struct Sample {
    Bytes bytes;
    ChunkContext context;
  };
  for (const auto& [bytes, context] :
       {Sample{cell_chunk(), context_of(4, {12, 10})}, Sample{ndlz_chunk(4, 1), {}},
        Sample{ndlz_chunk(8, 4), context_of(4, {9, 14})}}) {
    const auto probe = [&, with = context](std::span<const std::byte> damaged) {
      return test::chunk_misbehaviour(damaged, with);
    };
    REQUIRE(probe(bytes) == "");
    CHECK(test::first_bad_flip(bytes, 0, bytes.size(), probe) == "");
    for (std::size_t n = 0; n < bytes.size(); ++n) {
      REQUIRE_FALSE(
          decode(Bytes(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(n)), context));
    }
  }
}

}  // namespace
}  // namespace framefs::codec::plugin_chunk_test
