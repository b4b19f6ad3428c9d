#include "src/cli/time_text.h"

#include "tests/support/catch.h"

namespace framefs::time_text_test {
namespace {

TEST_CASE("time_text: numbers of seconds and of larger units", "[src][time_text][unit]") {
  CHECK(parse_seconds("0") == 0.0);
  CHECK(parse_seconds("0.25") == 0.25);
  CHECK(parse_seconds("1e2") == 100.0);
  CHECK(parse_seconds("5s") == 5.0);
  CHECK(parse_seconds("10m") == 600.0);
  CHECK(parse_seconds("1.5h") == 5400.0);
  CHECK(parse_seconds("2d") == 172800.0);
}

TEST_CASE("time_text: everything else is refused", "[src][time_text][unit]") {
  for (const auto* const text : {"", "m", "nan", "inf", "infm", "10 m", "10ms", "10M", "10mm", "+1",
                                 " 1", "1 ", "1m30s", "0x10", "1e999"}) {
    CAPTURE(text);
    CHECK_FALSE(parse_seconds(text));
  }
}

}  // namespace
}  // namespace framefs::time_text_test
