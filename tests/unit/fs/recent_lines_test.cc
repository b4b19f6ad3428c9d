#include "fs/core/diagnostics/recent_lines.h"

#include <cstdint>
#include <string>

#include "tests/support/catch.h"

namespace framefs::fs::recent_lines_test {
namespace {

TEST_CASE("recent_lines: the oldest lines are left out", "[fs][recent_lines][unit]") {
  RecentLines lines;
  CHECK(lines.page(0, 100).lines.empty());
  for (int i = 0; i < 1500; ++i) lines.add(std::to_string(i));
  const auto page = lines.page(0, 1u << 20);
  CHECK(page.first == 500);
  REQUIRE(page.lines.size() == RecentLines::kMaxLines);
  CHECK(page.lines.front() == "500");
  CHECK(page.lines.back() == "1499");
  const auto none = lines.page(1500, 100);
  CHECK(none.first == 1500);
  CHECK(none.lines.empty());
  CHECK(lines.page(~std::uint64_t{0}, 100).first == 1500);
}

TEST_CASE("recent_lines: pages follow each other without a gap", "[fs][recent_lines][unit]") {
  RecentLines lines;
  for (int i = 0; i < 100; ++i) lines.add(std::string(static_cast<std::size_t>(i), 'x'));
  std::uint64_t next = 0;
  while (true) {
    const auto page = lines.page(next, 300);
    REQUIRE(page.first == next);
    if (page.lines.empty()) break;
    std::size_t bytes = 0;
    for (const auto& line : page.lines) {
      REQUIRE(line.size() == next++);
      bytes += line.size();
    }
    REQUIRE(bytes <= 300);
  }
  CHECK(next == 100);
  // A line that is longer than a page is a page.
  CHECK(lines.page(50, 10).lines.size() == 1);
}

TEST_CASE("recent_lines: a long line loses its end", "[fs][recent_lines][unit]") {
  RecentLines lines;
  lines.add(std::string(5000, 'x'));
  const auto line = lines.page(0, 1).lines.at(0);
  CHECK(line.size() == RecentLines::kMaxLineBytes);
  CHECK(line.ends_with("x..."));
}

}  // namespace
}  // namespace framefs::fs::recent_lines_test
