#include "codec/filter/pipeline.h"

#include <random>
#include <string_view>
#include <vector>

#include "tests/support/catch.h"
#include "tests/support/forward_filters.h"
#include "tests/unit/codec/filter_checks.h"

namespace framefs::codec::pipeline_test {
namespace {

using test::Bytes;
using test::Filter;

FilterPipeline made(const FilterSlots& slots, const PipelineShape& shape) {
  auto pipeline = FilterPipeline::make(slots, shape);
  REQUIRE(pipeline.has_value());
  return *pipeline;
}

// Decodes `filtered`, which is put where input() says, with buffers of exactly the block's size.
Bytes decoded(const FilterPipeline& pipeline, const Bytes& filtered, const Bytes& block0 = {}) {
  Bytes out(filtered.size(), std::byte{0xee});
  Bytes scratch(pipeline.needs_scratch() ? filtered.size() : 0, std::byte{0xdd});
  const auto input = pipeline.input(out, scratch);
  REQUIRE(input.size() == filtered.size());
  std::ranges::copy(filtered, input.begin());
  pipeline.decode(out, scratch, block0);
  return out;
}

FilterSlots slots_of(const std::vector<Filter>& filters, std::size_t first_slot = 0) {
  FilterSlots slots{};
  for (std::size_t i = 0; i < filters.size(); ++i) {
    slots.at(first_slot + i).id = static_cast<std::uint8_t>(filters[i]);
  }
  return slots;
}

TEST_CASE("pipeline: a filter it cannot undo is refused with id and slot",
          "[codec][pipeline][unit]") {
  const auto refused_as = [](Errc kind, std::string_view field, int id) {
    for (std::size_t slot = 0; slot < 6; ++slot) {
      FilterSlots slots{};
      slots[slot].id = static_cast<std::uint8_t>(id);
      INFO("id " << id << " in slot " << slot);
      const auto got = FilterPipeline::make(slots, {});
      REQUIRE_FALSE(got);
      CHECK(got.error().kind == kind);
      CHECK(got.error().field == field);
      CHECK(got.error().at == 16 + slot);
      CHECK(got.error().value == id);
    }
  };
  for (int id = 5; id <= 31; ++id) refused_as(Errc::bad_field, "reserved filter", id);
  for (const int id : {37, 159}) refused_as(Errc::unsupported, "registered filter", id);
  for (const int id : {160, 202, 255}) refused_as(Errc::unsupported, "user filter", id);
}

TEST_CASE("pipeline: a typesize of 0 is refused", "[codec][pipeline][corrupt]") {
  CHECK_FALSE(FilterPipeline::make({}, {.typesize = 0, .schunk_typesize = 1}));
  CHECK_FALSE(FilterPipeline::make({}, {.typesize = 1, .schunk_typesize = 0}));
}

TEST_CASE("pipeline: nothing is done when no slot changes bytes", "[codec][pipeline][unit]") {
  const auto text = test::text_bytes("framefs");
  FilterSlots lossy{};
  lossy[0] = {.id = 4, .meta = 10};
  lossy[3] = {.id = 36, .meta = 254};
  FilterSlots width_one{};
  width_one[5] = {.id = 1, .meta = 1};
  for (const auto& slots : {FilterSlots{}, lossy, width_one}) {
    const auto pipeline = made(slots, {.typesize = 4, .schunk_typesize = 4});
    CHECK(pipeline.is_identity());
    CHECK_FALSE(pipeline.needs_scratch());
    CHECK_FALSE(pipeline.uses_delta());
    CHECK(decoded(pipeline, text) == text);
  }
  CHECK(made(slots_of({Filter::shuffle}), {.typesize = 1, .schunk_typesize = 1}).is_identity());
}

TEST_CASE("pipeline: each filter reports its needs", "[codec][pipeline][unit]") {
  const PipelineShape shape{.typesize = 4, .schunk_typesize = 4};
  const auto shuffle = made(slots_of({Filter::shuffle}), shape);
  CHECK_FALSE(shuffle.is_identity());
  CHECK(shuffle.needs_scratch());
  CHECK_FALSE(shuffle.uses_delta());
  CHECK(made(slots_of({Filter::bitshuffle}), shape).needs_scratch());
  const auto delta = made(slots_of({Filter::delta}), shape);
  CHECK_FALSE(delta.is_identity());
  CHECK_FALSE(delta.needs_scratch());
  CHECK(delta.uses_delta());
  const auto bytedelta = made(slots_of({Filter::bytedelta}), shape);
  CHECK_FALSE(bytedelta.is_identity());
  CHECK_FALSE(bytedelta.needs_scratch());
  CHECK_FALSE(bytedelta.uses_delta());
}

TEST_CASE("pipeline: input is where the last pass ends in the output", "[codec][pipeline][unit]") {
  Bytes out(16);
  Bytes scratch(20);
  const PipelineShape shape{.typesize = 4, .schunk_typesize = 4};
  const auto input_of = [&](const std::vector<Filter>& filters) {
    const auto input = made(slots_of(filters), shape).input(out, scratch);
    CHECK(input.size() == out.size());
    return input.data();
  };
  CHECK(input_of({}) == out.data());
  CHECK(input_of({Filter::delta, Filter::bytedelta}) == out.data());
  CHECK(input_of({Filter::shuffle}) == scratch.data());
  CHECK(input_of({Filter::delta, Filter::bitshuffle}) == scratch.data());
  CHECK(input_of({Filter::shuffle, Filter::bitshuffle}) == out.data());
  CHECK(input_of({Filter::shuffle, Filter::delta, Filter::bitshuffle, Filter::shuffle}) ==
        scratch.data());
}

TEST_CASE("pipeline: slots are undone from the last to the first", "[codec][pipeline][unit]") {
  // First sums (1 3 6 10), then two planes become pairs.
  const auto pipeline =
      made(slots_of({Filter::shuffle, Filter::bytedelta}), {.typesize = 2, .schunk_typesize = 1});
  CHECK(decoded(pipeline, bytes_of({1, 2, 3, 4})) == bytes_of({1, 6, 3, 10}));
  // First pairs (1 3 2 4), then sums.
  const auto other =
      made(slots_of({Filter::bytedelta, Filter::shuffle}), {.typesize = 2, .schunk_typesize = 1});
  CHECK(decoded(other, bytes_of({1, 2, 3, 4})) == bytes_of({1, 4, 6, 10}));
}

TEST_CASE("pipeline: a parameter replaces the width", "[codec][pipeline][unit]") {
  const PipelineShape shape{.typesize = 2, .schunk_typesize = 300};
  FilterSlots slots{};
  slots[5] = {.id = 1, .meta = 3};
  CHECK(decoded(made(slots, shape), test::text_bytes("ADBECF")) == test::text_bytes("ABCDEF"));
  slots[5] = {.id = 1, .meta = 0};
  CHECK(decoded(made(slots, shape), test::text_bytes("ACEBDF")) == test::text_bytes("ABCDEF"));
  slots[5] = {.id = 35, .meta = 2};
  CHECK(decoded(made(slots, shape), bytes_of({1, 1, 1, 1})) == bytes_of({1, 2, 1, 2}));
}

// Oracle: 600 bytes are 300 streams of two ones each.  With the chunk's typesize they would be one.
TEST_CASE("pipeline: bytedelta takes the frame's typesize, shuffle the chunk's",
          "[codec][pipeline][unit]") {
  const PipelineShape shape{.typesize = 1, .schunk_typesize = 300};
  Bytes expected(600, std::byte{1});
  for (std::size_t i = 1; i < expected.size(); i += 2) expected[i] = std::byte{2};
  const auto pipeline = made(slots_of({Filter::shuffle, Filter::bytedelta}), shape);
  CHECK_FALSE(pipeline.needs_scratch());
  CHECK(decoded(pipeline, Bytes(600, std::byte{1})) == expected);
}

TEST_CASE("pipeline: filter 34 restarts its sums, filter 35 does not", "[codec][pipeline][unit]") {
  const Bytes ones(18, std::byte{1});
  FilterSlots slots{};
  slots[2].id = 34;
  CHECK(decoded(made(slots, {}), ones).back() == std::byte{2});
  slots[2].id = 35;
  CHECK(decoded(made(slots, {}), ones).back() == std::byte{18});
}

TEST_CASE("pipeline: the bitshuffle rule reaches the filter", "[codec][pipeline][unit]") {
  const auto slots = slots_of({Filter::bitshuffle});
  const auto block = bytes_of({0x55, 0x66, 0x78, 0x80, 0, 0, 0, 0, 0xa1});
  CHECK(decoded(made(slots, {.bitshuffle_tail = BitshuffleTail::copy_partial_group}), block) ==
        bytes_of({1, 2, 3, 4, 5, 6, 7, 8, 0xa1}));
  CHECK(decoded(made(slots, {.bitshuffle_tail = BitshuffleTail::copy_whole_block}), block) ==
        block);
}

TEST_CASE("pipeline: delta takes block 0 for a reference, and itself in block 0",
          "[codec][pipeline][unit]") {
  const auto pipeline =
      made(slots_of({Filter::delta, Filter::shuffle}, 4), {.typesize = 2, .schunk_typesize = 2});
  // The planes 01 03, 02 04 are the elements 0201 0403; each element depends on the one before.
  const auto block0 = decoded(pipeline, bytes_of({1, 3, 2, 4}));
  CHECK(block0 == bytes_of({1, 2, 2, 6}));
  CHECK(decoded(pipeline, bytes_of({1, 3, 2, 4}), block0) == bytes_of({0, 0, 1, 2}));
  // A leftover block, shorter than the first.
  CHECK(decoded(pipeline, bytes_of({8, 9, 5}), block0) == bytes_of({9, 11, 5}));
}

// Oracle: the tests' own forward filters.  Delta is only used as the first filter, as the format
// requires.
TEST_CASE("pipeline: any sequence of filters is reversed", "[codec][pipeline][unit]") {
  constexpr std::uint32_t kSeed = 20240607;
  std::mt19937 random(kSeed);
  const auto pick = [&random](std::size_t below) {
    return std::uniform_int_distribution<std::size_t>(0, below - 1)(random);
  };
  constexpr Filter kAny[] = {Filter::shuffle, Filter::bitshuffle, Filter::bytedelta};
  for (int round = 0; round < 1500; ++round) {
    std::vector<Filter> filters;
    if (pick(2) == 0) filters.push_back(Filter::delta);
    while (filters.size() < 6 && pick(4) != 0) filters.push_back(kAny[pick(3)]);
    const std::size_t typesize = 1 + pick(round % 2 == 0 ? 20 : 255);
    const std::size_t blocksize = pick(3000);
    const auto plain0 = test::ramp(blocksize, typesize, static_cast<std::uint32_t>(round));
    const auto plain1 = test::noise(pick(blocksize + 1), static_cast<std::uint32_t>(round));
    auto filtered0 = plain0;
    auto filtered1 = plain1;
    for (const auto filter : filters) {
      filtered0 = test::filter_forward(filter, filtered0, typesize, {});
      filtered1 = test::filter_forward(filter, filtered1, typesize, plain0);
    }
    INFO("seed " << kSeed << ", round " << round << ", typesize " << typesize);
    const auto width = static_cast<std::uint32_t>(typesize);
    const auto pipeline = made(slots_of(filters, pick(7 - filters.size())),
                               {.typesize = width, .schunk_typesize = width});
    if (first_difference(decoded(pipeline, filtered0), plain0)) FAIL("first block");
    if (first_difference(decoded(pipeline, filtered1, plain0), plain1)) FAIL("second block");
  }
  SUCCEED("all came back");
}

}  // namespace
}  // namespace framefs::codec::pipeline_test
