#pragma once

#include <CLI/CLI.hpp>

#include "fs/core/mount_options.h"

namespace framefs {

// Adds the options that say how a URL is reached.
void add_remote_access_options(CLI::App& app, fs::RemoteOptions& remote);

}  // namespace framefs
