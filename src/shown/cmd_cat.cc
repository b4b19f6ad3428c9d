#include "src/shown/cmd_cat.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <optional>

#include <CLI/CLI.hpp>

#include "src/cli/arguments.h"
#include "src/cli/exit_codes.h"
#include "src/cli/stream_sink.h"
#include "src/pack/copy_out.h"
#include "src/shown/shown_tree.h"
#include "src/shown/source_options.h"

namespace framefs {
namespace {

void add_options(CLI::App& app, SourceCommand& command) {
  add_source_options(app, command,
                     "Files in SOURCE, as a mount shows them; none for a SOURCE that is one file");
}

constexpr CommandLine<SourceCommand> kCatCommandLine{
    .name = "framefs cat",
    .about = "Writes files of SOURCE to standard output as a mount would show them.",
    .add_options = add_options,
    .misplaced = misplaced_source_option};

codec::Result<fs::NodeEntry> find_file(ShownTree& tree, const std::string& path) {
  FRAMEFS_TRY(auto found, tree.find(path));
  if (path.empty() && tree.is_single()) {
    FRAMEFS_TRY(const auto root, tree.open_directory(found.id));
    FRAMEFS_TRY(const auto entries, tree.list(*root));
    if (entries.empty()) return fs::system_error_of(ENOENT, "lookup");
    FRAMEFS_TRY(found, tree.lookup(*root, entries.front()));
  }
  if (S_ISDIR(found.stat.st_mode)) {
    return fs::refusal(EISDIR, "is a directory; name the files in it, which framefs ls lists");
  }
  if (!S_ISREG(found.stat.st_mode)) return fs::refusal(EINVAL, "is no regular file");
  return found;
}

codec::Status put_file(ShownTree& tree, const std::string& path) {
  FRAMEFS_TRY(const auto found, find_file(tree, path));
  FRAMEFS_TRY(const auto file, tree.open_file(found.id));
  StreamSink sink(STDOUT_FILENO);
  return copy_out(*file, sink, [](std::uint64_t) { return true; });
}

}  // namespace

CommandSyntax cat_syntax() { return kCatCommandLine.syntax(); }

int run_cat(std::span<const std::string> arguments) {
  auto parsed = kCatCommandLine.parse(arguments);
  if (!parsed) return parsed.error();
  return show_each(*parsed, put_file) ? kExitOk : kExitFailure;
}

}  // namespace framefs
