#include "src/cli/arguments.h"

#include <iostream>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "src/cli/exit_codes.h"
#include "src/cli/size_text.h"

namespace framefs {

std::optional<int> parse_arguments(CLI::App& app, std::span<const std::string> arguments) {
  std::vector<std::string> reversed(arguments.rbegin(), arguments.rend());  // CLI11's order
  try {
    app.parse(std::move(reversed));
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() != 0) return usage_error(app, error.what());
    app.exit(error);
    return kExitOk;
  }
  return std::nullopt;
}

int usage_error(const CLI::App& app, const std::string& what) {
  std::cerr << fmt::format("framefs: {}\nRun {} --help for more.\n", what, app.get_name());
  return kExitUsage;
}

CLI::Validator size_text() {
  const auto convert = [](std::string& text) {
    const auto size = parse_size(text);
    if (!size) return text + " is no size";
    text = std::to_string(*size);
    return std::string();
  };
  return CLI::Validator(convert, "SIZE", "SIZE");
}

}  // namespace framefs
