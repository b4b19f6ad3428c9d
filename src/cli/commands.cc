#include "src/cli/commands.h"

#include <algorithm>
#include <array>
#include <iostream>
#include <span>
#include <string_view>

#include <fmt/core.h>

#include "src/cli/cli.h"
#include "src/cli/exit_codes.h"
#include "src/compact/cmd_compact.h"
#include "src/info/cmd_info.h"
#include "src/mount/cmd_mount.h"
#include "src/pack/cmd_pack.h"
#include "src/pack/cmd_unpack.h"

namespace framefs {
namespace {

using Arguments = std::span<const std::string>;

// The commands other than mounting.  Mounting is also the default without a command word.
struct Subcommand {
  std::string_view name;
  std::string_view about;
  int (*run)(Arguments arguments);
};
constexpr std::array kSubcommands = {
    Subcommand{"compact", "rewrite frames without dead space", run_compact},
    Subcommand{"info", "say what is in frames, arrays and stores", run_info},
    Subcommand{"pack", "make frames of plain files", run_pack},
    Subcommand{"unpack", "write frames, arrays and stores out as plain files", run_unpack},
};

const Subcommand* find_subcommand(std::string_view name) {
  const auto* const found = std::ranges::find(kSubcommands, name, &Subcommand::name);
  return found == kSubcommands.end() ? nullptr : found;
}

// `framefs help [COMMAND]` is the same as `framefs [COMMAND] --help`.
int run_help(const std::vector<std::string>& arguments) {
  const std::string flag = "--help";
  if (arguments.size() < 3 || arguments[2] == "mount") return run_mount({arguments[0], flag});
  if (const auto* const command = find_subcommand(arguments[2])) return command->run({&flag, 1});
  std::cerr << fmt::format("framefs: no command of that name: {}\nRun framefs --help for more.\n",
                           arguments[2]);
  return kExitUsage;
}

}  // namespace

std::string command_list() {
  std::string text = "Commands, of which framefs COMMAND --help says more:\n";
  const auto add = [&](std::string_view name, std::string_view about) {
    text += fmt::format("  {:<26}{}\n", name, about);
  };
  add("mount", "show frames as plain files; the word may be left out");
  for (const auto& command : kSubcommands) add(command.name, command.about);
  return text;
}

int run_framefs(const std::vector<std::string>& arguments) {
  if (arguments.size() < 2 || is_mount_helper(arguments)) return run_mount(arguments);
  const auto& word = arguments[1];
  if (word == "help") return run_help(arguments);
  if (const auto* const command = find_subcommand(word)) {
    return command->run(Arguments(arguments).subspan(2));
  }
  return run_mount(arguments);
}

}  // namespace framefs
