#include <string_view>

#include <fmt/core.h>
#include <fmt/ranges.h>

#include "src/completion/completion_scripts.h"

namespace framefs {
namespace {

// Escapes a text for single quotes, within brackets or after a colon.
std::string in_zsh_quotes(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '\'') {
      out += R"('\'')";
      continue;
    }
    if (c == '[' || c == ']' || c == ':' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

// Returns one line for _arguments.
std::string specification(const OptionSyntax& option) {
  std::string value;
  if (option.takes_value()) {
    const auto kind = value_kind_of(option);
    value = ":value:";
    if (kind == ValueKind::choices) value += fmt::format("({})", fmt::join(option.choices(), " "));
    if (kind == ValueKind::files) value += "_files";
  }
  const auto about = in_zsh_quotes(option.about);
  if (option.names.size() == 1) {
    return fmt::format("'{}[{}]{}'", option.names.front(), about, value);
  }
  return fmt::format("'({})'{{{}}}'[{}]{}'", fmt::join(option.names, " "),
                     fmt::join(option.names, ","), about, value);
}

std::string arguments_of(std::string_view command) {
  if (command == "completion") return "        '*:shell:(bash zsh fish)'\n";
  if (command != "umount" && command != "stats" && command != "log")
    return "        '*:file:_files'\n";
  return R"(        '*:mount:($(awk "\$3 ~ /^fuse[.]framefs\$/ { print \$2 }" /proc/self/mounts))'
)";
}

}  // namespace

std::string zsh_completion(const CompletedProgram& program) {
  std::string text =
      "#compdef framefs\n"
      "# Completion of framefs for zsh, made by \"framefs completion zsh\".\n\n"
      "_framefs() {\n"
      "  local -a commands mount_words\n"
      "  commands=(\n";
  for (const auto& command : program.commands) {
    text += fmt::format("    '{}:{}'\n", command.name, in_zsh_quotes(command.about));
  }
  text += "    'help:explain a command'\n  )\n";
  text += fmt::format("  mount_words=({})\n", fmt::join(program.mount_words, " "));
  text += R"(  local command=mount
  if (( CURRENT > 2 )) && [[ -n ${commands[(r)${words[2]}:*]} ]]; then
    command=$words[2]
    shift words
    (( CURRENT-- ))
  elif (( CURRENT == 2 )) && [[ $words[2] != -* ]]; then
    _describe -t commands command commands
    _files
    return
  fi
  case $command in
)";
  for (const auto& command : program.commands) {
    text += fmt::format("    {})\n      _arguments -s \\\n", command.name);
    for (const auto& option : command.syntax.options) {
      text += "        " + specification(option) + " \\\n";
    }
    if (command.name == "mount") {
      text +=
          "        '*-o[options as mount(8) has them]:words:_values -s , word $mount_words' \\\n";
    }
    text += arguments_of(command.name);
    text += "      ;;\n";
  }
  return text +
         "    help) _describe -t commands command commands ;;\n"
         "  esac\n"
         "}\n\n"
         "_framefs \"$@\"\n";
}

}  // namespace framefs
