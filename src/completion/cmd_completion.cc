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

constexpr const char* kAbout = "Prints the completion script for a shell: bash, zsh or fish.";
constexpr const char* kName = "framefs completion";

void add_options(CLI::App& app, Writer& writer) {
  add_choice(app, "SHELL", "bash, zsh or fish", kWriters, writer)->required();
}

}  // namespace

ValueKind value_kind_of(const OptionSyntax& option) {
  if (!option.choices().empty()) return ValueKind::choices;
  const bool is_path = option.value == "FILE" || option.value == "OUT" || option.value == "DIR";
  return is_path ? ValueKind::files : ValueKind::other;
}

int run_completion(std::span<const std::string> arguments, const CompletedProgram& program) {
  Writer writer = nullptr;
  CLI::App app(kAbout, kName);
  add_options(app, writer);
  if (const auto over = parse_arguments(app, arguments)) return *over;
  TextOutput out;
  out.put(writer(program));
  return out.finish() ? kExitOk : kExitFailure;
}

CommandSyntax completion_syntax() {
  Writer writer = nullptr;
  CLI::App app(kAbout, kName);
  add_options(app, writer);
  return syntax_of(app);
}

}  // namespace framefs
