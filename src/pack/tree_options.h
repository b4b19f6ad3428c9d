#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include <CLI/CLI.hpp>

#include "src/pack/tree_transfer.h"

namespace framefs {

// Adds the options of a command that converts directories.
void add_tree_options(CLI::App& app, TransferOptions& options);

// Returns the usage error of a directory whose results cannot go to a stream.
std::string no_stream_of(const std::string& tree);

// Returns the directory for the results of `top`: `out`, or with several trees the directory in
// `out` that has the name of `top`.  Returns nothing if `out` is empty: the results go beside the
// originals.
std::optional<std::filesystem::path> out_tree(const std::string& out, const std::string& top,
                                              bool has_several);

}  // namespace framefs
