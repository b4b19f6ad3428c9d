#include "src/completion/cmd_completion.h"

#include <array>
#include <utility>

#include <CLI/CLI.hpp>

#include "src/cli/arguments.h"
#include "src/cli/exit_codes.h"
#include "src/cli/text_output.h"

namespace framefs {
namespace {

using Writer = std::string (*)(const CompletedProgram&);
constexpr std::array<std::pair<std::string_view, Writer>, 3> kWriters = {
    {{"bash", bash_completion}, {"zsh", zsh_completion}, {"fish", fish_completion}}};

void add_options(CLI::App& app, Writer& writer) {
  add_choice(app, "SHELL", "bash, zsh or fish", kWriters, writer)->required();
}

constexpr CommandLine<Writer> kCompletionCommandLine{
    .name = "framefs completion",
    .about = "Prints the completion script for a shell: bash, zsh or fish.",
    .add_options = add_options};

}  // namespace

ValueKind value_kind_of(const OptionSyntax& option) {
  if (!option.choices().empty()) return ValueKind::choices;
  const bool is_path = option.value == "FILE" || option.value == "OUT" || option.value == "DIR";
  return is_path ? ValueKind::files : ValueKind::other;
}

int run_completion(std::span<const std::string> arguments, const CompletedProgram& program) {
  const auto writer = kCompletionCommandLine.parse(arguments);
  if (!writer) return writer.error();
  TextOutput out;
  out.put((*writer)(program));
  return out.end() ? kExitOk : kExitFailure;
}

CommandSyntax completion_syntax() { return kCompletionCommandLine.syntax(); }

}  // namespace framefs
