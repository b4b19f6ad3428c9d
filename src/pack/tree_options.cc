#include "src/pack/tree_options.h"

#include <sys/stat.h>

#include <cerrno>
#include <filesystem>
#include <iostream>
#include <system_error>
#include <utility>

#include <fmt/core.h>

#include "src/cli/cause_text.h"
#include "src/cli/collected_log.h"
#include "src/cli/filter_options.h"
#include "src/cli/printable.h"

namespace framefs {

void add_tree_options(CLI::App& app, TransferOptions& options) {
  add_filter_options(app, options.filter);
  app.add_flag("--keep-going,!--stop-on-error", options.keeps_going,
               "In directories, go on after a failure (the default), or end with the first");
}

std::string no_stream_of(const std::string& tree) {
  return fmt::format("{} is a directory: -o needs a directory, not a stream", tree);
}

codec::Result<std::optional<fs::Tree>> open_out_tree(const std::string& out, const std::string& top,
                                                     bool has_several, MadeOutputs& made) {
  if (out.empty()) return std::nullopt;
  if (::mkdir(out.c_str(), 0777) != 0 && errno != EEXIST) {
    return codec::of_target(fs::system_error("mkdir"));
  }
  auto opened = fs::Tree::open(out);
  if (!opened && opened.error().sys == ENOTDIR) {
    return codec::of_target(fs::refusal(ENOTDIR, "is not a directory"));
  }
  FRAMEFS_TRY(auto tree, codec::of_target(std::move(opened)));
  FRAMEFS_TRY(auto place, codec::of_target(fs::Place::given(out)));
  if (has_several) {
    std::error_code error;
    const auto name = std::filesystem::canonical(top, error).filename().string();
    place = fs::Place(tree.directory(), name.empty() ? "." : name, tree.path_of(name));
  }
  FRAMEFS_CHECK(made.check(place, Output::directory));
  if (has_several) {
    FRAMEFS_CHECK(codec::of_target(place.make_directory()));
    FRAMEFS_TRY(tree, codec::of_target(fs::Tree::at(place)));
  }
  made.add(place, Output::directory);
  return tree;
}

bool run_transfer(const TreeRun& run, const TransferOptions& options, TreeConverter converter,
                  MadeOutputs& made, TreeTransfer::Stop stop) {
  const auto report = [](const std::string& path, const codec::Error& error) {
    print_messages({failure_text(path, error)});
  };
  const auto top = fs::Tree::open(run.top);
  if (!top) {
    report(run.top, top.error());
    return false;
  }
  const auto out = open_out_tree(run.out, run.top, run.has_several, made);
  if (!out) {
    report(run.out, out.error());
    return false;
  }
  TreeTransfer transfer(options, std::move(converter), made, report, std::move(stop));
  transfer.run(*top, *out ? &**out : nullptr);
  if (!run.quiet) {
    std::cerr << fmt::format("{}: {}\n", printable(run.top),
                             transfer_text(transfer.count(), run.verb));
  }
  return transfer.count().failed == 0;
}

}  // namespace framefs
