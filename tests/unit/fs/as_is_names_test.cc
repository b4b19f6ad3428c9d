#include "fs/source/as_is_names.h"

#include "fs/source/path_glob.h"
#include "tests/support/catch.h"

namespace framefs::fs::as_is_names_test {
namespace {

TEST_CASE("path_glob: a glob with a slash is about the path, another about the name",
          "[fs][path_glob][unit]") {
  CHECK(matches_glob("*.b2", "a/b.b2"));
  CHECK(matches_glob("a/*", "a/b/c"));
  CHECK(matches_glob("/a/*", "a/b"));
  CHECK_FALSE(matches_glob("/a", "b/a"));
  CHECK_FALSE(matches_glob("a*", "a/b"));
}

TEST_CASE("path_glob: may_match_below() misses no match", "[fs][path_glob][unit]") {
  for (const auto* const glob :
       {"*/fixtures/*", "a/b/*", "a/b/c", "a?b/*", "a/[bc]/*", "/a/b/c", "*/c", "a\\/b/c"}) {
    CAPTURE(glob);
    CHECK(may_match_below(glob, "a"));
  }
  for (const auto* const glob : {"*.b2", "b/*", "a", "/a", "ab/c", "?b/c", "a/"}) {
    CAPTURE(glob);
    CHECK_FALSE(may_match_below(glob, "a"));
  }
  CHECK(may_match_below("a/*", "a/b/c"));
  CHECK_FALSE(may_match_below("a/b", "a/b"));
}

TEST_CASE("as_is_names: only names with the suffix of a frame, and what lies below them",
          "[fs][as_is_names][unit]") {
  const AsIsNames names({"*/fixtures/*", "*.b2nd"});
  CHECK(names.covers("tests/fixtures/a.b2frame"));
  CHECK(names.covers("tests/fixtures/deep/a.b2frame"));
  CHECK(names.covers("x/a.b2nd"));
  CHECK(names.covers("a.b2nd/chunks"));
  CHECK(names.covers("a.b2nd/deep/b.b2frame"));
  CHECK_FALSE(names.covers("tests/fixtures/a.txt"));
  CHECK_FALSE(names.covers("fixtures/a.b2frame"));
  CHECK_FALSE(names.covers("tests/a.b2frame"));
  CHECK_FALSE(names.covers(".b2nd"));
  CHECK_FALSE(AsIsNames({}).covers("a.b2nd"));
  CHECK(names.depends_on("any"));
  CHECK_FALSE(AsIsNames({"*.b2nd"}).depends_on("any"));
}

}  // namespace
}  // namespace framefs::fs::as_is_names_test
