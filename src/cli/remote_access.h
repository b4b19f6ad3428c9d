#pragma once

#include <optional>
#include <span>
#include <string>

#include <CLI/CLI.hpp>

#include "fs/core/mount_options.h"

namespace framefs {

// Adds the options that say how a URL is reached.
void add_remote_access_options(CLI::App& app, fs::RemoteOptions& remote);

// A validator for a path, or a URL that framefs can read.  "@FILE" becomes the URL in the first
// line of FILE: a command line is for all users to see, and a URL may hold a signature.
CLI::Validator path_or_url();

// Returns what is wrong with a URL; nothing for a valid URL, and for a path.
std::optional<std::string> url_problem(const std::string& source);

// Returns the first of these options that is given, for a usage error.  Each entry of `names` is
// the name of an option of `app`.
std::optional<std::string> first_given(const CLI::App& app, std::span<const char* const> names);

// Returns what is wrong with the options that say how a URL is reached: they need a `source` that
// is a URL, and some of them one of S3.
std::optional<std::string> misplaced_remote_option(const CLI::App& app, const std::string& source);
// The same for several arguments: one of them is enough.
std::optional<std::string> misplaced_remote_option(const CLI::App& app,
                                                   std::span<const std::string> sources);

// Whether one of these is a URL.
bool has_url(std::span<const std::string> sources);

}  // namespace framefs
