#include "src/pack/tree_options.h"

#include <system_error>

#include <fmt/core.h>

#include "src/cli/filter_options.h"

namespace framefs {

void add_tree_options(CLI::App& app, TransferOptions& options) {
  add_filter_options(app, options.filter);
  app.add_flag("--keep-going,!--stop-on-error", options.keeps_going,
               "In directories, go on after a failure (the default), or end with the first");
}

std::string no_stream_of(const std::string& tree) {
  return fmt::format("{} is a directory: -o needs a directory, not a stream", tree);
}

std::optional<std::filesystem::path> out_tree(const std::string& out, const std::string& top,
                                              bool has_several) {
  if (out.empty()) return std::nullopt;
  std::filesystem::path tree(out);
  if (!has_several) return tree;
  std::error_code error;
  return tree / std::filesystem::canonical(top, error).filename();
}

}  // namespace framefs
