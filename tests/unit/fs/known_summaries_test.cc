#include "fs/source/known_summaries.h"

#include <sys/stat.h>

#include <string>

#include "tests/support/catch.h"

namespace framefs::fs::known_summaries_test {
namespace {

std::string path_of(std::size_t number) { return "folder/file " + std::to_string(number); }

struct stat stat_of(std::size_t size, long mtime_s) {
  struct stat st{};
  st.st_size = static_cast<off_t>(size);
  st.st_mtim = {.tv_sec = mtime_s, .tv_nsec = 0};
  return st;
}

KnownSummaries made(std::size_t count) {
  KnownSummaries files;
  for (std::size_t i = 0; i < count; ++i) {
    const FrameSummary summary{.content = i % 2 == 0 ? Content::frame : Content::array};
    files.add(path_of(i), {.size = i, .mtime_ns = 1'000'000'000, .summary = summary});
  }
  return files;
}

}  // namespace

TEST_CASE("known_summaries: finds each of its files in the state that it has", "[fs][source]") {
  for (const std::size_t count : {0UL, 1UL, 2UL, 3UL, 1000UL}) {
    CAPTURE(count);
    const auto known = made(count);
    for (std::size_t i = 0; i < count; ++i) {
      const auto found = known.find(path_of(i), stat_of(i, 1));
      REQUIRE(found);
      CHECK(found->content == (i % 2 == 0 ? Content::frame : Content::array));
      CHECK_FALSE(known.find(path_of(i), stat_of(i + 1, 1)));
      CHECK_FALSE(known.find(path_of(i), stat_of(i, 2)));
    }
    CHECK_FALSE(known.find(path_of(count), stat_of(count, 1)));
    CHECK_FALSE(known.find("", stat_of(0, 1)));
  }
}

}  // namespace framefs::fs::known_summaries_test
