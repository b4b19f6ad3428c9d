#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "src/cli/command_syntax.h"

namespace framefs {

// The content of a completion script.
struct CompletedProgram {
  struct Command {
    std::string name;   // "pack"
    std::string about;  // a line for lists
    CommandSyntax syntax;
  };
  std::vector<Command> commands;         // including "mount"
  std::vector<std::string> mount_words;  // of -o; a word that takes a value ends in "="
};

// The kind of completion for the value of an option.
enum class ValueKind : std::uint8_t {
  choices,  // OptionSyntax::choices()
  files,
  other,  // no completion
};
ValueKind value_kind_of(const OptionSyntax& option);

std::string bash_completion(const CompletedProgram& program);
std::string zsh_completion(const CompletedProgram& program);
std::string fish_completion(const CompletedProgram& program);

}  // namespace framefs
