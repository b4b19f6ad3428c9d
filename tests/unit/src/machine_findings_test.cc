#include "src/doctor/machine_findings.h"

#include <string>

#include "tests/support/catch.h"

namespace framefs::machine_findings_test {
namespace {

TEST_CASE("machine_findings: a line of fuse.conf lets users give --allow-other",
          "[src][machine_findings][unit]") {
  CHECK(allows_others("user_allow_other"));
  CHECK(allows_others("# comment\nmount_max = 1000\n  user_allow_other  # yes\n"));
  for (const std::string text :
       {"", "#user_allow_other", "user_allow_others", "user_allow_other = 0", "mount_max = 1"}) {
    INFO(text);
    CHECK_FALSE(allows_others(text));
  }
}

TEST_CASE("machine_findings: each topic is named once, and has a text",
          "[src][machine_findings][unit]") {
  std::string seen = "\n";
  const auto findings = machine_findings();
  for (const auto& finding : findings.list()) {
    INFO(finding.topic);
    CHECK(seen.find("\n" + finding.topic + "\n") == std::string::npos);
    CHECK_FALSE(finding.text.empty());
    seen += finding.topic + "\n";
  }
  CHECK(seen.find("\n/dev/fuse\n") != std::string::npos);
}

}  // namespace
}  // namespace framefs::machine_findings_test
