#include "src/cli/command_syntax.h"

#include <algorithm>
#include <numeric>

#include <fmt/core.h>
#include <fmt/ranges.h>

namespace framefs {
namespace {

constexpr std::size_t kColumns = 80;
constexpr std::size_t kAboutColumn = 26;

// Prints two columns: a head, and its explanation beside or below it.
void add_row(std::string& text, const std::string& head, const std::string& about) {
  const std::string margin(kAboutColumn, ' ');
  auto line = "  " + head;
  const bool fits_beside = line.size() + 2 <= kAboutColumn;
  if (fits_beside) {
    line.resize(kAboutColumn, ' ');
  } else {
    text += line + "\n";
    line = margin;
  }
  for (const auto& part : wrap_text(about, kColumns - kAboutColumn)) {
    text += line + part + "\n";
    line = margin;
  }
  if (about.empty() && fits_beside) text += "  " + head + "\n";
}

std::string usage_line(const CommandSyntax& syntax) {
  auto text = "Usage: " + syntax.name;
  for (const auto& argument : syntax.arguments) {
    const auto name = argument.name + (argument.is_repeated ? "..." : "");
    text += argument.is_required ? " " + name : " [" + name + "]";
  }
  return text + " [OPTION]...\n";
}

// The edit distance of two words: insertions, removals, replacements and swaps of neighbours.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before(b.size() + 1);
  std::vector<std::size_t> last(b.size() + 1);
  std::vector<std::size_t> now(b.size() + 1);
  std::iota(last.begin(), last.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    now[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t differs = a[i - 1] == b[j - 1] ? 0 : 1;
      now[j] = std::min({last[j] + 1, now[j - 1] + 1, last[j - 1] + differs});
      const bool is_swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (is_swapped) now[j] = std::min(now[j], before[j - 2] + 1);
    }
    std::swap(before, last);
    std::swap(last, now);
  }
  return last.back();
}

}  // namespace

std::string_view OptionSyntax::long_name() const noexcept {
  for (const auto& name : names) {
    if (name.starts_with("--")) return std::string_view(name).substr(2);
  }
  return {};
}

std::vector<std::string> OptionSyntax::choices() const {
  std::vector<std::string> words;
  if (value.find('|') == std::string::npos) return words;
  for (std::string_view rest = value; !rest.empty();) {
    const auto word = rest.substr(0, rest.find('|'));
    words.emplace_back(word);
    rest.remove_prefix(std::min(rest.size(), word.size() + 1));
  }
  return words;
}

std::vector<std::string> wrap_text(std::string_view text, std::size_t width) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    auto line = text.substr(0, width);
    const auto end = text.size() <= width ? std::string_view::npos : text.rfind(' ', width);
    if (end != std::string_view::npos) line = text.substr(0, end);
    if (text.size() > width && end == std::string_view::npos) {
      line = text.substr(0, text.find(' '));  // a long word is not broken
    }
    lines.emplace_back(line);
    text.remove_prefix(line.size());
    text.remove_prefix(std::min(text.size(), text.find_first_not_of(' ')));
  }
  return lines;
}

std::string help_text(const CommandSyntax& syntax) {
  auto text = usage_line(syntax) + "\n";
  for (const auto& line : wrap_text(syntax.about, kColumns)) text += line + "\n";
  if (!syntax.arguments.empty()) text += "\nArguments:\n";
  for (const auto& argument : syntax.arguments) {
    add_row(text, argument.name + (argument.is_repeated ? "..." : ""), argument.about);
  }
  text += "\nOptions:\n";
  for (const auto& option : syntax.options) {
    auto head = fmt::format("{}", fmt::join(option.names, ", "));
    if (option.takes_value()) head += " " + option.value;
    auto about = option.about;
    if (!option.default_value.empty()) about += fmt::format(" (default: {})", option.default_value);
    add_row(text, head, about);
  }
  if (!syntax.footer.empty()) text += "\n" + syntax.footer;
  return text;
}

std::optional<std::string> nearest_word(std::string_view word,
                                        const std::vector<std::string>& candidates) {
  std::optional<std::string> best;
  // Every option of one letter resembles every other.
  if (word.size() <= 2) return best;
  auto least = std::max<std::size_t>(1, word.size() / 3) + 1;
  for (const auto& candidate : candidates) {
    const auto distance = edit_distance(word, candidate);
    if (distance >= least) continue;
    least = distance;
    best = candidate;
  }
  return best;
}

std::string suggestion(std::string_view word, const std::vector<std::string>& candidates) {
  const auto nearest = nearest_word(word, candidates);
  return nearest ? fmt::format("; did you mean {}?", *nearest) : std::string();
}

}  // namespace framefs
