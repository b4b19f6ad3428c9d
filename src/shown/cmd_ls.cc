#include "src/shown/cmd_ls.h"

#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <ctime>
#include <optional>

#include <CLI/CLI.hpp>
#include <fmt/core.h>

#include "src/cli/arguments.h"
#include "src/cli/exit_codes.h"
#include "src/cli/printable.h"
#include "src/cli/text_output.h"
#include "src/shown/shown_tree.h"
#include "src/shown/source_options.h"

namespace framefs {
namespace {

struct LsCommand : SourceCommand {
  bool is_long = false;
};

void add_options(CLI::App& app, LsCommand& command) {
  add_source_options(app, command,
                     "Files and directories in SOURCE, as a mount shows them; all of SOURCE by "
                     "default");
  app.add_flag("-l,--long", command.is_long, "Show the size and the time of each entry as well");
}

constexpr CommandLine<LsCommand> kLsCommandLine{
    .name = "framefs ls",
    .about = "Lists what a mount of SOURCE would show, without a mount.",
    .add_options = add_options,
    .misplaced = misplaced_source_option};

std::string time_of(const struct stat& st) {
  std::array<char, 32> text{};
  std::tm broken{};
  ::localtime_r(&st.st_mtim.tv_sec, &broken);
  const auto size = std::strftime(text.data(), text.size(), "%Y-%m-%d %H:%M:%S", &broken);
  return {text.data(), size};
}

// One run of the command.
class Ls {
 public:
  explicit Ls(const LsCommand& command) : command_(command) {}

  // Errors: those of the path, or of an entry.
  codec::Status list(ShownTree& tree, const std::string& path) {
    FRAMEFS_TRY(const auto found, tree.find(path));
    if (!S_ISDIR(found.stat.st_mode)) {
      put(path, found.stat);
      return {};
    }
    FRAMEFS_TRY(const auto directory, tree.open_directory(found.id));
    FRAMEFS_TRY(const auto entries, tree.list(*directory));
    for (const auto& entry : entries) {
      const auto& name = entry.shown.name;
      if (!command_.is_long) {
        put_name(name, entry.source.type == DT_DIR);
        continue;
      }
      FRAMEFS_TRY(const auto node, tree.lookup(*directory, entry));
      put(name, node.stat);
      tree.forget(node.id);
    }
    return {};
  }
  [[nodiscard]] bool end() { return out_.end(); }

 private:
  void put(const std::string& name, const struct stat& st) {
    const bool is_directory = S_ISDIR(st.st_mode);
    if (command_.is_long) {
      out_.put(
          fmt::format("{:>15} {} ", is_directory ? "-" : std::to_string(st.st_size), time_of(st)));
    }
    put_name(name, is_directory);
  }
  // A program that reads the names gets them as they are.
  void put_name(const std::string& name, bool is_directory) {
    out_.put((is_terminal_ ? printable(name) : name) + (is_directory ? "/\n" : "\n"));
  }

  const LsCommand& command_;
  TextOutput out_;
  const bool is_terminal_ = ::isatty(STDOUT_FILENO) == 1;
};

}  // namespace

CommandSyntax ls_syntax() { return kLsCommandLine.syntax(); }

int run_ls(std::span<const std::string> arguments) {
  auto parsed = kLsCommandLine.parse(arguments);
  if (!parsed) return parsed.error();
  Ls ls(*parsed);
  const bool all = show_each(
      *parsed, [&](ShownTree& tree, const std::string& path) { return ls.list(tree, path); });
  return ls.end() && all ? kExitOk : kExitFailure;
}

}  // namespace framefs
