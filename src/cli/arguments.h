#pragma once

#include <optional>
#include <span>
#include <string>

#include <CLI/CLI.hpp>

namespace framefs {

// Parses the arguments after the name of a command.  Returns the exit code if there is nothing to
// run: after --help or a usage error.  The text of these has been printed.
std::optional<int> parse_arguments(CLI::App& app, std::span<const std::string> arguments);

// Prints a usage error to standard error and returns the exit code for it.
int usage_error(const CLI::App& app, const std::string& what);

// A validator for options that take a number of bytes, with the rules of parse_size().  CLI11's own
// conversion accepts "-1", "M" and values above 64 bits.
CLI::Validator size_text();

}  // namespace framefs
