#include "src/commands.h"

#include <string>
#include <vector>

#include "src/cli/exit_codes.h"
#include "src/mount/mount_command.h"
#include "tests/support/captured_streams.h"
#include "tests/support/catch.h"

namespace framefs::commands_test {
namespace {

struct Run {
  int code = 0;
  std::string out;
  std::string err;
};

Run run(std::vector<std::string> words) {
  words.insert(words.begin(), "framefs");
  const test::CapturedStreams captured;
  const int code = run_framefs(words);
  return {code, captured.out(), captured.err()};
}

TEST_CASE("commands: help of each is that of its name, and lists the others", "[src][cli][unit]") {
  for (const std::string command : {"mount", "info", "unpack"}) {
    CAPTURE(command);
    const auto help = run({"help", command});
    CHECK(help.code == kExitOk);
    CHECK(help.err.empty());
    CHECK(help.out == run({command, "--help"}).out);
    CHECK(run({"--help"}).out.find("\n  " + command + " ") != std::string::npos);
  }
  CHECK(run({"help"}).out == run({"--help"}).out);
  CHECK(run({"help", "info"}).out != run({"help", "unpack"}).out);
}

TEST_CASE("commands: a wrong command line is reported as such", "[src][cli][unit]") {
  using Words = std::vector<std::string>;
  for (const auto& words :
       {Words{"info"}, Words{"unpack"}, Words{"info", "--frobnicate", "x"}, Words{"help", "x"},
        Words{"unpack", "x", "y", "-o", "/nowhere/z"}, Words{"unpack", "x", "--arrays", "both"},
        Words{"info", "x", "--offset", "-1"}, Words{"unpack", "x", "--threads", "-1"},
        Words{"mount", "info"}}) {
    std::string line;
    for (const auto& word : words) line += word + " ";
    CAPTURE(line);
    const auto result = run(words);
    CHECK(result.code == kExitUsage);
    CHECK(result.out.empty());
    CHECK(result.err.starts_with("framefs: "));
  }
}

TEST_CASE("commands: behind the word mount, and for mount(8), a command's name is a path",
          "[src][cli][unit]") {
  const auto source_of = [](const std::vector<std::string>& arguments) {
    const auto parsed = parse_mount_command(arguments, "");
    REQUIRE(parsed.command);
    return parsed.command->mount.source.filename();
  };
  for (const std::string name : {"mount", "info", "unpack", "help"}) {
    CAPTURE(name);
    CHECK(source_of({"framefs", "mount", name, "/mnt"}) == name);
    CHECK(source_of({"/sbin/mount.framefs", name, "/mnt"}) == name);
  }
}

}  // namespace
}  // namespace framefs::commands_test
