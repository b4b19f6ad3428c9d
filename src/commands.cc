#include "src/commands.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <iostream>
#include <span>
#include <string_view>
#include <system_error>

#include <fmt/core.h>

#include "src/check/cmd_check.h"
#include "src/cli/command_syntax.h"
#include "src/cli/exit_codes.h"
#include "src/cli/mount_option_syntax.h"
#include "src/compact/cmd_compact.h"
#include "src/completion/cmd_completion.h"
#include "src/demo/cmd_demo.h"
#include "src/doctor/cmd_doctor.h"
#include "src/index/cmd_index.h"
#include "src/info/cmd_info.h"
#include "src/mount/cmd_mount.h"
#include "src/mount/mount_command.h"
#include "src/observe/cmd_list.h"
#include "src/observe/cmd_log.h"
#include "src/observe/cmd_stats.h"
#include "src/observe/cmd_top.h"
#include "src/observe/cmd_umount.h"
#include "src/pack/cmd_pack.h"
#include "src/pack/cmd_unpack.h"
#include "src/shown/cmd_cat.h"
#include "src/shown/cmd_ls.h"
#include "src/warm/cmd_warm.h"

namespace framefs {
namespace {

using Arguments = std::span<const std::string>;

// The commands other than mounting.  Mounting is also the default without a command word.
struct Subcommand {
  std::string_view name;
  std::string_view about;
  int (*run)(Arguments arguments);
  CommandSyntax (*syntax)();
};

int print_completion(Arguments arguments);

constexpr std::array kSubcommands = {
    Subcommand{"info", "describe frames, arrays and containers", run_info, info_syntax},
    Subcommand{"ls", "list what a mount would show", run_ls, ls_syntax},
    Subcommand{"cat", "write files as a mount would show them", run_cat, cat_syntax},
    Subcommand{"pack", "make frames of plain files", run_pack, pack_syntax},
    Subcommand{"unpack", "write frames, arrays and containers as plain files", run_unpack,
               unpack_syntax},
    Subcommand{"check", "find damage in frames; save what is left of them", run_check,
               check_syntax},
    Subcommand{"compact", "rewrite frames without dead space", run_compact, compact_syntax},
    Subcommand{"index", "make the manifest of a directory, bucket or web server", run_index,
               index_syntax},
    Subcommand{"warm", "fill the disk cache of a URL with files", run_warm, warm_syntax},
    Subcommand{"list", "list mounts with their daemons", run_list, list_syntax},
    Subcommand{"stats", "show what the daemon of a mount has done", run_stats, stats_syntax},
    Subcommand{"top", "show what all mounts do, once a second", run_top, top_syntax},
    Subcommand{"log", "show the last lines of a mount's log", run_log, log_syntax},
    Subcommand{"umount", "unmount, and wait until all is committed", run_umount, umount_syntax},
    Subcommand{"doctor", "say what this machine and a path lack for mounts", run_doctor,
               doctor_syntax},
    Subcommand{"demo", "make a small sample dataset", run_demo, demo_syntax},
    Subcommand{"completion", "print the completion script for a shell", print_completion,
               completion_syntax},
};
constexpr std::string_view kMountAbout = "show frames as plain files; the word may be left out";

int print_completion(Arguments arguments) {
  CompletedProgram program;
  program.commands.push_back({"mount", std::string(kMountAbout), mount_syntax()});
  program.mount_words = mount_words(program.commands.front().syntax);
  for (const auto& command : kSubcommands) {
    program.commands.push_back(
        {std::string(command.name), std::string(command.about), command.syntax()});
  }
  return run_completion(arguments, program);
}

std::vector<std::string> command_names() {
  std::vector<std::string> names = {"mount", "help"};
  for (const auto& command : kSubcommands) names.emplace_back(command.name);
  return names;
}

const Subcommand* find_subcommand(std::string_view name) {
  const auto* const found = std::ranges::find(kSubcommands, name, &Subcommand::name);
  return found == kSubcommands.end() ? nullptr : found;
}

int refuse(const std::string& what) {
  std::cerr << fmt::format("framefs: {}\nRun framefs --help for more.\n", what);
  return kExitUsage;
}

// Reports that no command has this name.
int refuse_command(const std::string& word) {
  return refuse(fmt::format("no command is called {}{}", word, suggestion(word, command_names())));
}

// The list of commands for the end of --help: one line for each.
std::string command_list() {
  std::string text = "Commands; framefs COMMAND --help explains one:\n";
  const auto add = [&](std::string_view name, std::string_view about) {
    text += fmt::format("  {:<24}{}\n", name, about);
  };
  add("mount", kMountAbout);
  for (const auto& command : kSubcommands) add(command.name, command.about);
  return text;
}

int mount(const std::vector<std::string>& arguments) {
  return run_mount(arguments, command_list());
}

// `framefs help [COMMAND]` is the same as `framefs [COMMAND] --help`.
int run_help(const std::vector<std::string>& arguments) {
  const std::string flag = "--help";
  if (arguments.size() > 3) return refuse(fmt::format("unexpected argument {}", arguments[3]));
  const bool is_of_all = arguments.size() < 3 || arguments[2] == "mount" || arguments[2] == "help";
  if (is_of_all) return mount({arguments[0], flag});
  if (const auto* const command = find_subcommand(arguments[2])) return command->run({&flag, 1});
  return refuse_command(arguments[2]);
}

// Returns whether the only argument is a misspelt command: similar to one, and not a file.
bool is_misspelt(const std::vector<std::string>& arguments) {
  const auto& word = arguments[1];
  std::error_code none;
  return word != "mount" && !word.starts_with("-") && word.find('/') == std::string::npos &&
         nearest_word(word, command_names()) && !std::filesystem::exists(word, none);
}

}  // namespace

int run_framefs(const std::vector<std::string>& arguments) {
  if (arguments.size() < 2 || is_mount_helper(arguments)) return mount(arguments);
  const auto& word = arguments[1];
  if (word == "help") return run_help(arguments);
  if (const auto* const command = find_subcommand(word)) {
    return command->run(Arguments(arguments).subspan(2));
  }
  if (is_misspelt(arguments)) return refuse_command(word);
  return mount(arguments);
}

}  // namespace framefs
