#include "src/cli/command_syntax.h"

#include <vector>

#include "tests/support/catch.h"

namespace framefs::command_syntax_test {
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

}  // namespace
}  // namespace framefs::command_syntax_test
