#include <string_view>

#include <fmt/core.h>
#include <fmt/ranges.h>

#include "src/completion/completion_scripts.h"

namespace framefs {
namespace {

// Escapes a text for single quotes.
std::string in_fish_quotes(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '\'' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

std::string names_of(const OptionSyntax& option) {
  std::string text;
  for (const auto& name : option.names) {
    text += name.starts_with("--") ? fmt::format(" -l {}", name.substr(2))
                                   : fmt::format(" -s {}", name.substr(1));
  }
  return text;
}

std::string value_of(const OptionSyntax& option) {
  if (!option.takes_value()) return "";
  switch (value_kind_of(option)) {
    case ValueKind::choices:
      return fmt::format(" -xa '{}'", fmt::join(option.choices(), " "));
    case ValueKind::files:
      return " -rF";
    case ValueKind::other:
      break;
  }
  return " -x";
}

}  // namespace

std::string fish_completion(const CompletedProgram& program) {
  std::vector<std::string> others;
  for (const auto& command : program.commands) {
    if (command.name != "mount") others.push_back(command.name);
  }
  const auto elsewhere = fmt::format("{} help", fmt::join(others, " "));
  std::string text = "# Completion of framefs for fish, made by \"framefs completion fish\".\n\n";
  for (const auto& command : program.commands) {
    text += fmt::format("complete -c framefs -n __fish_use_subcommand -a {} -d '{}'\n",
                        command.name, in_fish_quotes(command.about));
  }
  text += "complete -c framefs -n __fish_use_subcommand -a help -d 'explain a command'\n";
  text += fmt::format(
      "complete -c framefs -n '__fish_seen_subcommand_from help' -xa 'mount {}'\n"
      "complete -c framefs -n '__fish_seen_subcommand_from completion' -xa 'bash zsh fish'\n",
      fmt::join(others, " "));
  text +=
      "complete -c framefs -n '__fish_seen_subcommand_from umount stats log' -xa "
      "'(string match -rg \" (\\\\S+) fuse[.]framefs \" < /proc/self/mounts)'\n";
  for (const auto& command : program.commands) {
    const auto when = command.name == "mount"
                          ? fmt::format("not __fish_seen_subcommand_from {}", elsewhere)
                          : fmt::format("__fish_seen_subcommand_from {}", command.name);
    text += "\n";
    for (const auto& option : command.syntax.options) {
      text += fmt::format("complete -c framefs -n '{}'{}{} -d '{}'\n", when, names_of(option),
                          value_of(option), in_fish_quotes(option.about));
    }
    if (command.name == "mount") {
      text += fmt::format(
          "complete -c framefs -n '{}' -s o -x -d 'options as mount(8) has them' "
          "-a '(__fish_complete_list , \"printf %s\\\\\\\\n {}\")'\n",
          when, fmt::join(program.mount_words, " "));
    }
  }
  return text;
}

}  // namespace framefs
