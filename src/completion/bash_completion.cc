#include <fmt/core.h>
#include <fmt/ranges.h>

#include "src/completion/completion_scripts.h"

namespace framefs {
namespace {

// Returns the `case` patterns of a command's options with values of one kind.
std::string patterns(const CompletedProgram::Command& command, const OptionSyntax& option) {
  std::vector<std::string> parts;
  parts.reserve(option.names.size());
  for (const auto& name : option.names) parts.push_back(command.name + ":" + name);
  return fmt::format("{}", fmt::join(parts, " | "));
}

void add_values(std::string& text, const CompletedProgram::Command& command,
                const OptionSyntax& option) {
  if (!option.takes_value()) return;
  text += fmt::format("    {})\n", patterns(command, option));
  switch (value_kind_of(option)) {
    case ValueKind::choices:
      text += fmt::format("      _framefs_words {}\n", fmt::join(option.choices(), " "));
      break;
    case ValueKind::files:
      text += "      _filedir\n";
      break;
    case ValueKind::other:
      break;
  }
  text += "      return\n      ;;\n";
}

std::string long_options(const CommandSyntax& syntax) {
  std::vector<std::string> names;
  for (const auto& option : syntax.options) {
    for (const auto& name : option.names) {
      if (name.starts_with("--")) names.push_back(name);
    }
  }
  return fmt::format("{}", fmt::join(names, " "));
}

}  // namespace

std::string bash_completion(const CompletedProgram& program) {
  std::vector<std::string> names;
  names.reserve(program.commands.size());
  for (const auto& command : program.commands) names.push_back(command.name);
  auto text = fmt::format(
      R"(# Completion of framefs for bash, made by "framefs completion bash".

_framefs_words() {{ mapfile -t COMPREPLY < <(compgen -W "$*" -- "$cur"); }}

_framefs() {{
  local cur prev words cword
  _init_completion -n = || return

  local command=mount
  case ${{words[1]-}} in
    {} | help) if [[ $cword -gt 1 ]]; then command=${{words[1]}}; fi ;;
  esac

  case $command:$prev in
    mount:-o)
      _framefs_words {}
      compopt -o nospace
      return
      ;;
)",
      fmt::join(names, " | "), fmt::join(program.mount_words, " "));
  for (const auto& command : program.commands) {
    for (const auto& option : command.syntax.options) add_values(text, command, option);
  }
  text += "  esac\n\n  if [[ $cur == -* ]]; then\n    case $command in\n";
  for (const auto& command : program.commands) {
    const auto* const extra = command.name == "mount" ? " -o" : "";
    text += fmt::format("      {}) _framefs_words {}{} ;;\n", command.name,
                        long_options(command.syntax), extra);
  }
  return text + fmt::format(R"(    esac
    return
  fi

  case $command in
    help) _framefs_words {0} ; return ;;
    completion) _framefs_words bash zsh fish ; return ;;
    umount | stats | log)
      local mounts
      mounts=$(awk '$3 ~ /^fuse[.]framefs$/ {{ print $2 }}' /proc/self/mounts)
      _framefs_words "$mounts"
      return
      ;;
  esac
  _filedir
  if [[ $cword -eq 1 ]]; then
    local names
    mapfile -t names < <(compgen -W "{0} help" -- "$cur")
    COMPREPLY+=("${{names[@]}}")
  fi
}}

complete -F _framefs framefs
)",
                            fmt::join(names, " "));
}

}  // namespace framefs
