#include "fs/core/resources/compact_string.h"

#include <string>
#include <utility>

#include "tests/support/catch.h"

namespace framefs::fs::compact_string_test {
namespace {

static_assert(sizeof(CompactString) == sizeof(void*));

TEST_CASE("compact_string: it has the bytes of a string", "[fs][compact_string][unit]") {
  const std::string with_zero("a\0b", 3);
  for (const auto& text : {std::string(), std::string("x"), with_zero, std::string(5000, 'y')}) {
    const CompactString compact = text;
    CHECK(compact == text);
    CHECK(compact.view() == text);
    CHECK(compact.str() == text);
    CHECK(compact.empty() == text.empty());
    CHECK_FALSE(compact == text + "z");
  }
}

TEST_CASE("compact_string: a copy stays as it is", "[fs][compact_string][unit]") {
  CompactString text = "one";
  const CompactString copy = text;
  CHECK(copy == text);
  text = "two";
  CHECK(copy == "one");
  CHECK_FALSE(copy == text);
  text = copy;
  CHECK(text == copy);
  const auto moved = std::move(text);
  CHECK(moved == "one");
}

}  // namespace
}  // namespace framefs::fs::compact_string_test
