#include "src/cli/command_syntax.h"

#include <vector>

#include "src/pack/array_shapes.h"
#include "tests/support/catch.h"

namespace framefs {
namespace {

using Words = std::vector<std::string>;

TEST_CASE("command_syntax: lines break between words", "[src][cli][unit]") {
  CHECK(wrap_text("", 10).empty());
  CHECK(wrap_text("one", 10) == Words{"one"});
  CHECK(wrap_text("one two three", 7) == Words{"one two", "three"});
  CHECK(wrap_text("one two three", 8) == Words{"one two", "three"});
  CHECK(wrap_text("incomprehensible words", 8) == Words{"incomprehensible", "words"});
}

TEST_CASE("command_syntax: a slip has a nearest word", "[src][cli][unit]") {
  const Words words = {"pack", "unpack", "--cache-size", "ro"};
  CHECK(nearest_word("pakc", words) == "pack");
  CHECK(nearest_word("unpak", words) == "unpack");
  CHECK(nearest_word("--cach-size", words) == "--cache-size");
  CHECK_FALSE(nearest_word("frobnicate", words));
  CHECK_FALSE(nearest_word("zz", words));
  CHECK(suggestion("zz", words).empty());
}

TEST_CASE("command_syntax: choices are distinguished from other values", "[src][cli][unit]") {
  OptionSyntax option{
      .names = {"-x", "--arrays"}, .value = "npy|raw", .about = {}, .default_value = {}};
  CHECK(option.long_name() == "arrays");
  CHECK(option.choices() == Words{"npy", "raw"});
  option.value = "SIZE";
  CHECK(option.choices().empty());
  CHECK(option.takes_value());
}

TEST_CASE("array_shapes: chunks and blocks keep their bounds", "[src][pack][unit]") {
  using Shape = std::vector<std::uint64_t>;
  for (const auto& shape : {Shape{1}, Shape{1'000'000}, Shape{1000, 1000}, Shape{3, 5, 7, 11},
                            Shape{1u << 30, 3}, Shape{2, 1u << 30}, Shape{17, 1, 1, 40'000}}) {
    for (const std::uint32_t typesize : {1U, 8U, 1000U}) {
      CAPTURE(shape, typesize);
      const auto shapes = choose_array_shapes(shape, typesize, 1u << 20, 1u << 14);
      std::uint64_t chunk = typesize;
      std::uint64_t block = typesize;
      for (std::size_t i = 0; i < shape.size(); ++i) {
        REQUIRE(shapes.block[i] >= 1);
        REQUIRE(shapes.block[i] <= shapes.chunk[i]);
        CHECK(static_cast<std::uint64_t>(shapes.chunk[i]) <= shape[i]);
        const auto blocks = (shapes.chunk[i] + shapes.block[i] - 1) / shapes.block[i];
        chunk *= static_cast<std::uint64_t>(blocks * shapes.block[i]);
        block *= static_cast<std::uint64_t>(shapes.block[i]);
      }
      CHECK(block <= 1u << 14);
      CHECK(chunk <= 2u << 20);  // whole blocks at the array's edge
    }
  }
}

}  // namespace
}  // namespace framefs
