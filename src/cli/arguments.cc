#include "src/cli/arguments.h"

#include <algorithm>
#include <iostream>
#include <utility>

#include <fmt/core.h>
#include <fmt/ranges.h>

#include "codec/core/parse_number.h"
#include "src/cli/exit_codes.h"
#include "src/cli/printable.h"
#include "src/cli/size_text.h"
#include "src/cli/text_output.h"
#include "src/cli/time_text.h"

namespace framefs {
namespace {

OptionSyntax option_syntax(const CLI::Option& option) {
  OptionSyntax syntax;
  for (const auto& name : option.get_snames()) syntax.names.push_back("-" + name);
  for (const auto& name : option.get_lnames()) syntax.names.push_back("--" + name);
  if (option.get_items_expected_max() > 0) {
    syntax.value = option.get_option_text().empty() ? "VALUE" : option.get_option_text();
  }
  syntax.about = option.get_description();
  syntax.default_value = option.get_default_str();
  return syntax;
}

ArgumentSyntax argument_syntax(const CLI::Option& option) {
  return {.name = option.get_name(true),
          .about = option.get_description(),
          .is_required = option.get_required(),
          .is_repeated = option.get_items_expected_max() > 1};
}

std::vector<std::string> option_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const auto& option : syntax_of(app).options) {
    std::ranges::copy(option.names, std::back_inserter(names));
  }
  return names;
}

std::optional<std::string> unknown_option(const CLI::App& app) {
  for (const auto& word : app.remaining()) {
    if (!word.starts_with("-")) continue;
    const auto name = word.substr(0, word.find('='));
    return fmt::format("unknown option {}{}", name, suggestion(name, option_names(app)));
  }
  return std::nullopt;
}

// CLI11's own message names its internal types.
std::string explain(const CLI::App& app, const CLI::ParseError& error) {
  std::string what = error.what();
  const auto is = [&error](CLI::ExitCodes code) {
    return error.get_exit_code() == static_cast<int>(code);
  };
  // A misspelt option may be why an argument is missing.
  if (is(CLI::ExitCodes::ExtrasError) || is(CLI::ExitCodes::RequiredError)) {
    if (auto unknown = unknown_option(app)) return *unknown;
  }
  if (is(CLI::ExitCodes::ExtrasError)) {
    return fmt::format("unexpected argument {}", fmt::join(app.remaining(), " "));
  }
  if (is(CLI::ExitCodes::ArgumentMismatch)) {
    if (const auto at = what.find(" was given a disallowed"); at != std::string::npos) {
      const auto name = what.substr(0, at);  // without dashes
      return fmt::format("{}{} takes no value", name.size() == 1 ? "-" : "--", name);
    }
    if (const auto at = what.find(": At Most"); at != std::string::npos) {
      return fmt::format("{} is given more than once", what.substr(0, at));
    }
    return fmt::format("{} needs a value", what.substr(0, what.find(':')));
  }
  return what;
}

// Returns the name of an option or argument whose value is empty, as that of an unset variable of a
// shell; nothing if there is none.
std::optional<std::string> empty_value(const CLI::App& app) {
  for (const auto* const option : app.get_options()) {
    const auto is_empty = [](const std::string& value) { return value.empty(); };
    if (std::ranges::any_of(option->results(), is_empty)) return option->get_name();
  }
  return std::nullopt;
}

bool takes_value(const CLI::App& app, const std::string& word) {
  const auto* const option = word.starts_with('-') ? app.get_option_no_throw(word) : nullptr;
  return option != nullptr && option->get_items_expected_max() > 0;
}

// Where several paths may be given, CLI11 takes an argument in brackets for a list: "[a,b]" would
// be the paths "a" and "b".
std::vector<std::string> without_lists(const CLI::App& app,
                                       std::span<const std::string> arguments) {
  std::vector<std::string> words(arguments.begin(), arguments.end());
  const auto takes_list = [](const CLI::Option* option) {
    return option->get_positional() && option->get_allow_extra_args();
  };
  if (std::ranges::none_of(app.get_options(), takes_list)) return words;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const bool is_value = i > 0 && takes_value(app, arguments[i - 1]);
    if (!is_value && words[i].starts_with('[') && words[i].ends_with(']')) {
      words[i].insert(0, "./");
    }
  }
  return words;
}

// Prints the answer to a question about the program, and returns the exit code.
int print_text(const std::string& text) {
  TextOutput out;
  out.put(text);
  return out.end() ? kExitOk : kExitFailure;
}

}  // namespace

CommandSyntax syntax_of(const CLI::App& app) {
  CommandSyntax syntax;
  syntax.name = app.get_name();
  syntax.about = app.get_description();
  syntax.footer = app.get_footer();
  for (const auto* const option : app.get_options()) {
    if (option->get_group().empty()) continue;
    if (option->get_positional()) {
      syntax.arguments.push_back(argument_syntax(*option));
    } else {
      syntax.options.push_back(option_syntax(*option));
    }
  }
  return syntax;
}

std::optional<int> parse_arguments(CLI::App& app, std::span<const std::string> arguments) {
  // For CLI11, the value of a flag would be a number of times, or whether the flag is given.
  for (auto* const option : app.get_options()) {
    if (option->get_items_expected_max() == 0) option->disable_flag_override();
  }
  auto words = without_lists(app, arguments);
  std::ranges::reverse(words);  // CLI11's order
  try {
    app.parse(std::move(words));
  } catch (const CLI::CallForHelp&) {
    return print_text(help_text(syntax_of(app)));
  } catch (const CLI::CallForVersion& version) {
    return print_text(std::string(version.what()) + '\n');
  } catch (const CLI::ParseError& error) {
    return usage_error(app, explain(app, error));
  }
  if (const auto name = empty_value(app)) {
    return usage_error(app, fmt::format("{}: the value is empty", *name));
  }
  return std::nullopt;
}

int usage_error(const CLI::App& app, const std::string& what) {
  std::cerr << fmt::format("framefs: {}\nRun {} --help for more.\n", printable(what),
                           app.get_name());
  return kExitUsage;
}

CLI::Validator size_text(std::uint64_t least, std::uint64_t most) {
  const auto convert = [least, most](std::string& text) {
    const auto size = parse_size(text);
    if (!size) return fmt::format("\"{}\" is not a size such as 4096, 64K or 2G", text);
    if (*size < least || *size > most) {
      return fmt::format("\"{}\" is not a size from {} to {} bytes", text, least, most);
    }
    text = std::to_string(*size);
    return std::string();
  };
  return CLI::Validator(convert, "SIZE", "SIZE");
}

CLI::Validator whole_number(std::uint64_t least, std::uint64_t most) {
  const auto check = [least, most](std::string& text) {
    const auto number = codec::parse_number<std::uint64_t>(text);
    if (number && *number >= least && *number <= most) return std::string();
    return fmt::format("\"{}\" is not a whole number from {} to {}", text, least, most);
  };
  return CLI::Validator(check, "", "NUMBER");
}

CLI::Validator seconds_up_to(double most) {
  const auto convert = [most](std::string& text) {
    const auto seconds = parse_seconds(text);
    if (!seconds || *seconds < 0 || *seconds > most) {
      return fmt::format("\"{}\" is not a time such as 90, 0.5 or 10m, from 0 to {} seconds", text,
                         most);
    }
    text = fmt::format("{}", *seconds);
    return std::string();
  };
  return CLI::Validator(convert, "", "SECONDS");
}

CLI::Validator one_of(std::vector<std::string> words) {
  const auto check = [words = std::move(words)](std::string& text) {
    if (std::ranges::find(words, text) != words.end()) return std::string();
    return fmt::format("\"{}\" is not one of {}{}", text, fmt::join(words, ", "),
                       suggestion(text, words));
  };
  return CLI::Validator(check, "", "WORD");
}

}  // namespace framefs
