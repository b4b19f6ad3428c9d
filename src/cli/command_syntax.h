#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace framefs {

// One option of a command, for the help, the completions and the words of -o.
struct OptionSyntax {
  std::vector<std::string> names;  // with their hyphens, the short one first
  std::string value;               // "SIZE", or the choices as "npy|raw"; empty for a flag
  std::string about;
  std::string default_value;  // empty: not shown

  [[nodiscard]] bool takes_value() const noexcept { return !value.empty(); }
  // The long name without its hyphens; empty if there is only a short name.
  [[nodiscard]] std::string_view long_name() const noexcept;
  // The accepted values, if the option has a fixed set.
  [[nodiscard]] std::vector<std::string> choices() const;
};

// A positional argument: SOURCE, FRAME...
struct ArgumentSyntax {
  std::string name;
  std::string about;
  bool is_required = false;
  bool is_repeated = false;
};

// The definition of a command's options, read from the parser that accepts them.
struct CommandSyntax {
  std::string name;   // "framefs pack"
  std::string about;  // one sentence
  std::vector<ArgumentSyntax> arguments;
  std::vector<OptionSyntax> options;  // without hidden options
  std::string footer;
};

// The text of --help, for a terminal of 80 columns.
std::string help_text(const CommandSyntax& syntax);

// Breaks a text between words into lines of at most `width` bytes.
std::vector<std::string> wrap_text(std::string_view text, std::size_t width);

// Returns the candidate that is most similar to `word`; nothing if none is similar.
std::optional<std::string> nearest_word(std::string_view word,
                                        const std::vector<std::string>& candidates);

// Returns "; did you mean --cache-size?" or an empty text.
std::string suggestion(std::string_view word, const std::vector<std::string>& candidates);

}  // namespace framefs
