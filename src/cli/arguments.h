#pragma once

#include <cstdint>
#include <expected>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "src/cli/command_syntax.h"

namespace framefs {

// The help of --locking, which several commands have.
inline constexpr const char* kLockingHelp =
    "Create the lock file (.b2lock) of each frame that is changed";

// Returns the options that a parser accepts.  They are the one definition of the options: the help,
// the completions and the words of -o are made from them.
CommandSyntax syntax_of(const CLI::App& app);

// Parses the arguments after the name of a command.  Returns the exit code if there is nothing to
// run: after --help, --version or a usage error.  The text of these has been printed.
std::optional<int> parse_arguments(CLI::App& app, std::span<const std::string> arguments);

// Prints a usage error to standard error and returns the exit code for it.
int usage_error(const CLI::App& app, const std::string& what);

// The command line of one command: its name, a sentence about it, and the options, whose values go
// into an Options.
template <class Options>
struct CommandLine {
  // Returns what is wrong with options that contradict each other; nothing if they do not.
  using Contradiction = std::optional<std::string> (*)(const Options& options);
  // The same for options that were given in vain, which their values do not tell.
  using Misplaced = std::optional<std::string> (*)(const CLI::App& app, const Options& options);

  const char* name;  // "framefs pack"
  const char* about;
  void (*add_options)(CLI::App& app, Options& options);
  Contradiction contradiction = nullptr;
  Misplaced misplaced = nullptr;

  [[nodiscard]] CommandSyntax syntax() const {
    Options options{};
    CLI::App app(about, name);
    add_options(app, options);
    return syntax_of(app);
  }

  // Parses the arguments after the name of the command.
  // Error: the exit code if there is nothing to run, as parse_arguments() returns it.
  [[nodiscard]] std::expected<Options, int> parse(std::span<const std::string> arguments) const {
    Options options{};
    CLI::App app(about, name);
    add_options(app, options);
    if (const auto over = parse_arguments(app, arguments)) return std::unexpected(*over);
    auto wrong = contradiction == nullptr ? std::nullopt : contradiction(options);
    if (!wrong && misplaced != nullptr) wrong = misplaced(app, options);
    if (wrong) return std::unexpected(usage_error(app, *wrong));
    return options;
  }
};

// A validator for options that take a number of bytes in a range, with the rules of parse_size().
// CLI11's own conversion accepts "-1", "M" and values above 64 bits.
CLI::Validator size_text(std::uint64_t least = 0,
                         std::uint64_t most = std::numeric_limits<std::uint64_t>::max());

// A validator for options that take a whole number in a range.  CLI11's own range check accepts
// "nan".
CLI::Validator whole_number(std::uint64_t least, std::uint64_t most);

// A validator for options that take a time of 0 to `most` seconds, with the rules of
// parse_seconds().  It converts the text to a number of seconds.
CLI::Validator seconds_up_to(double most);

// A validator for options with a fixed set of words.
CLI::Validator one_of(std::vector<std::string> words);

// Adds an option with a fixed set of names.  `choices` holds pairs of a name and a value; `to`
// receives the value of the given name.
template <class Choices, class Target>
CLI::Option* add_choice(CLI::App& app, const std::string& option, const std::string& about,
                        const Choices& choices, Target& to) {
  std::vector<std::string> words;
  std::string text;
  for (const auto& choice : choices) {
    words.emplace_back(choice.first);
    text += (text.empty() ? "" : "|") + words.back();
  }
  // CLI11's own conversion also accepts the numbers of an enum, even numbers without an enumerator.
  const auto set = [&choices, &to](const std::string& word) {
    for (const auto& [name, value] : choices) {
      if (name == word) to = value;
    }
  };
  return app.add_option_function<std::string>(option, set, about)
      ->check(one_of(std::move(words)))
      ->option_text(text);
}

}  // namespace framefs
