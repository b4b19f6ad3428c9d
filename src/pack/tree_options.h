#pragma once

#include <optional>
#include <string>

#include <CLI/CLI.hpp>

#include "src/pack/tree_transfer.h"

namespace framefs {

// Adds the options of a command that converts directories.
void add_tree_options(CLI::App& app, TransferOptions& options);

// Returns the usage error of a directory whose results cannot go to a stream.
std::string no_stream_of(const std::string& tree);

// Opens, or makes, the directory for the results of `top`: `out`, or with several trees the
// directory in `out` that has the name of `top`.  Returns nothing if `out` is empty: the results go
// beside the originals.
// Errors: system, of the target; those of MadeOutputs::check().
codec::Result<std::optional<fs::Tree>> open_out_tree(const std::string& out, const std::string& top,
                                                     bool has_several, MadeOutputs& made);

// Transfers the tree `top`, and tells the result, unless `quiet`: "12 files packed".  Returns
// whether nothing failed.
struct TreeRun {
  std::string top;
  std::string out;
  bool has_several = false;  // trees and files on the command line
  bool quiet = false;
  std::string verb;
};
bool run_transfer(const TreeRun& run, const TransferOptions& options, TreeConverter converter,
                  MadeOutputs& made, TreeTransfer::Stop stop);

}  // namespace framefs
