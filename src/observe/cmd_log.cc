#include "src/observe/cmd_log.h"

#include <CLI/CLI.hpp>

#include "src/cli/arguments.h"
#include "src/cli/collected_log.h"
#include "src/cli/exit_codes.h"
#include "src/cli/printable.h"
#include "src/cli/text_output.h"
#include "src/observe/mount_list.h"

namespace framefs {
namespace {

void add_options(CLI::App& app, std::string& mountpoint) {
  app.add_option("MOUNTPOINT", mountpoint, "A mount of framefs")->required();
}

constexpr CommandLine<std::string> kLogCommandLine{
    .name = "framefs log",
    .about = "Shows the last 1,000 lines that the daemon of a mount has logged.",
    .add_options = add_options};

}  // namespace

CommandSyntax log_syntax() { return kLogCommandLine.syntax(); }

int run_log(std::span<const std::string> arguments) {
  const auto mountpoint = kLogCommandLine.parse(arguments);
  if (!mountpoint) return mountpoint.error();
  const auto lines = read_log(*mountpoint);
  if (!lines) {
    print_messages({no_answer_text(*mountpoint, lines.error())});
    return kExitFailure;
  }
  TextOutput out;
  for (const auto& line : *lines) out.put(printable(line) + "\n");
  return out.end() ? kExitOk : kExitFailure;
}

}  // namespace framefs
