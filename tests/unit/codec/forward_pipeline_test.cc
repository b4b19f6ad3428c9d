#include "codec/filter/forward_pipeline.h"

#include <random>

#include "tests/support/catch.h"
#include "tests/support/outcome.h"
#include "tests/support/random_seed.h"
#include "tests/unit/codec/filter_checks.h"

namespace framefs::codec::forward_pipeline_test {
namespace {

using test::Bytes;
using test::draw;
using test::outcome;

constexpr std::uint8_t kLossless[] = {0, 1, 2, 35};

Bytes there_and_back(const FilterSlots& slots, const PipelineShape& shape, const Bytes& plain) {
  const auto forward = ForwardPipeline::make(slots, shape);
  REQUIRE(forward);
  const Bytes before(plain);  // NOLINT(performance-unnecessary-copy-initialization): compared below
  Bytes first(plain.size());
  Bytes second(plain.size());
  const auto filtered = forward->encode(plain, first, second);
  REQUIRE(plain == before);
  REQUIRE(filtered.size() == plain.size());

  const auto backward = FilterPipeline::make(slots, shape);
  REQUIRE(backward);
  Bytes out(plain.size());
  Bytes scratch(plain.size());
  std::ranges::copy(filtered, backward->input(out, scratch).begin());
  backward->decode(out, scratch, {});
  return out;
}

TEST_CASE("forward_pipeline: any row of filters is undone by the reading pipeline",
          "[codec][forward_pipeline][unit]") {
  const auto seed = test::random_seed();
  CAPTURE(seed);
  std::mt19937 random(seed);
  for (int round = 0; round < 2000; ++round) {
    FilterSlots slots{};
    for (auto& slot : slots) {
      slot.id = kLossless[draw(random) % 4];
      if (slot.id == 1 || slot.id == 35) {
        slot.meta = static_cast<std::uint8_t>(draw(random) % 3 == 0 ? draw(random) % 20 : 0);
      }
    }
    const auto typesize = 1 + draw(random) % 40;
    const PipelineShape shape{.typesize = typesize,
                              .schunk_typesize = draw(random) % 4 == 0 ? 300 : typesize};
    const auto plain = test::noise(draw(random) % 3000, draw(random));
    if (there_and_back(slots, shape, plain) != plain) FAIL("round " << round);
  }
  SUCCEED("all came back");
}

TEST_CASE("forward_pipeline: the block itself is the result when no filter changes it",
          "[codec][forward_pipeline][unit]") {
  const auto plain = test::noise(100, 1);
  FilterSlots slots{};
  slots[5].id = 1;  // a shuffle of single bytes
  const auto pipeline = ForwardPipeline::make(slots, {.typesize = 1, .schunk_typesize = 1});
  REQUIRE(pipeline);
  CHECK(pipeline->is_identity());
  CHECK(pipeline->encode(plain, {}, {}).data() == plain.data());
}

TEST_CASE("forward_pipeline: truncation clears bits in a copy", "[codec][forward_pipeline][unit]") {
  FilterSlots slots{};
  slots[0] = {.id = 4, .meta = static_cast<std::uint8_t>(-8)};
  const auto pipeline = ForwardPipeline::make(slots, {.typesize = 4, .schunk_typesize = 4});
  REQUIRE(pipeline);
  const auto plain = bytes_of({1, 2, 3, 4, 5, 6, 7, 8, 9});
  Bytes first(9);
  Bytes second(9);
  const auto out = pipeline->encode(plain, first, second);
  CHECK(Bytes(out.begin(), out.end()) == bytes_of({0, 2, 3, 4, 0, 6, 7, 8, 9}));
  CHECK(plain == bytes_of({1, 2, 3, 4, 5, 6, 7, 8, 9}));
}

TEST_CASE("forward_pipeline: filters that are not written are refused by name and place",
          "[codec][forward_pipeline][corrupt]") {
  const auto made = [](std::uint8_t id, std::uint8_t meta, std::uint32_t typesize) {
    FilterSlots slots{};
    slots[2] = {.id = id, .meta = meta};
    return outcome(
        ForwardPipeline::make(slots, {.typesize = typesize, .schunk_typesize = typesize}));
  };
  CHECK(made(3, 0, 4) == "unsupported: filter at 18");
  CHECK(made(34, 0, 4) == "unsupported: filter at 18");
  CHECK(made(200, 0, 4) == "unsupported: filter at 18");
  CHECK(made(17, 0, 4) == "bad field: filter at 18");
  CHECK(made(4, 60, 4) == "bad field: filter parameter at 18");
  CHECK(made(4, 3, 2) == "bad field: typesize for trunc_prec at 18");
  CHECK(made(1, 0, 0) == "bad field: typesize at 3");
}

}  // namespace
}  // namespace framefs::codec::forward_pipeline_test
