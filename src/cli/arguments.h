#pragma once

#include <optional>
#include <span>
#include <string>

#include <CLI/CLI.hpp>

namespace framefs {

// Parses the arguments of a command, those after its name.  Returns the exit code where the run is
// over: --help, or a usage error, either of which has then been said.
std::optional<int> parse_arguments(CLI::App& app, std::span<const std::string> arguments);

// Says on standard error what is wrong with a command line, and returns the exit code for it.
int usage_error(const CLI::App& app, const std::string& what);

// For options that take a number of bytes, as parse_size() does.  CLI11's own conversion takes "-1" and
// "M" for sizes, and what passes 64 bits.
CLI::Validator size_text();

}  // namespace framefs
