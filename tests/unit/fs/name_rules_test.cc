#include "fs/tree/names/name_rules.h"

#include <cerrno>
#include <string>
#include <vector>

#include "tests/support/catch.h"
#include "tests/unit/fs/test_log.h"

namespace framefs::fs::name_rules_test {
namespace {

int errno_of_status(const Status& status) { return status ? 0 : status.error().sys; }

struct Rules {
  explicit Rules(const MountOptions& options = {}, std::vector<std::string> globs = {})
      : as_is(std::move(globs)), rules(options, as_is, log.log()) {}

  test::TestLog log;
  AsIsNames as_is;
  NameRules rules;
};

TEST_CASE("name_rules: a name that SOURCE would show otherwise is refused",
          "[fs][name_rules][unit]") {
  const Rules of;
  const auto check = [&](const std::string& name, Expected expected) {
    return errno_of_status(of.rules.check_new("folder", name, expected, ShownAs::itself));
  };
  CHECK(check("x", Expected::nothing) == 0);
  CHECK(check("x.b2frame", Expected::frame) == EPERM);
  CHECK(check("x.b2nd", Expected::array) == EPERM);
  CHECK(check("x.b2frame.b2lock", Expected::nothing) == EPERM);
  // A container has the suffix that makes it one.
  CHECK(of.rules.check_new("folder", "x.b2z", Expected::zip_container, ShownAs::container));
}

TEST_CASE("name_rules: names with suffixes are those of a mount that keeps them",
          "[fs][name_rules][unit]") {
  MountOptions options;
  options.keep_suffix = true;
  const Rules of(options);
  CHECK(of.rules.check_new("", "x.b2frame", Expected::frame, ShownAs::itself));
  CHECK(of.rules.check_new("", "x.b2nd", Expected::array, ShownAs::array));
  CHECK(errno_of_status(of.rules.check_new("", "x.b2nd", Expected::array, ShownAs::itself)) ==
        EPERM);
}

TEST_CASE("name_rules: the log explains a refused name once for each directory",
          "[fs][name_rules][unit]") {
  Rules of;
  for (const std::string directory : {"one", "one", "two"}) {
    CHECK_FALSE(of.rules.check_new(directory, "x.b2frame", Expected::frame, ShownAs::itself));
  }
  const auto lines = of.log.lines();
  REQUIRE(lines.size() == 2);
  CHECK(lines[0].find("one/x.b2frame: refused (EPERM)") != std::string::npos);
  CHECK(lines[0].find("--as-is '*.b2frame'") != std::string::npos);
  CHECK(lines[1].find("two/x.b2frame") != std::string::npos);
}

TEST_CASE("name_rules: an entry stays as it is stored, or stays a frame",
          "[fs][name_rules][unit]") {
  const Rules of({}, {"*.b2nd"});
  const auto check = [&](const std::string& from, const std::string& to) {
    return errno_of_status(of.rules.check_kept_as_is(from, to, false));
  };
  CHECK(check("a.b2nd", "b.b2nd") == 0);
  CHECK(check("a", "b") == 0);
  CHECK(check("a.b2nd", "a") == EXDEV);
  CHECK(check("a", "a.b2nd") == EXDEV);
  const Rules without;
  CHECK(without.rules.check_kept_as_is("a.b2nd", "a", false));
}

TEST_CASE("name_rules: a full name is not changed", "[fs][name_rules][unit]") {
  Rules of;
  NameMap::Found found;
  CHECK(of.rules.check_listed("x", found));
  found.is_listed = false;
  CHECK(errno_of_status(of.rules.check_listed("x.b2frame", found)) == EPERM);
  CHECK(of.log.lines().size() == 1);
}

}  // namespace
}  // namespace framefs::fs::name_rules_test
