#include "src/compact/cmd_compact.h"

#include <unistd.h>

#include <iostream>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/core.h>

#include "src/cli/arguments.h"
#include "src/cli/collected_log.h"
#include "src/cli/exit_codes.h"
#include "src/cli/printable.h"
#include "src/cli/size_text.h"
#include "src/compact/frame_compactor.h"
#include "src/mount/held_signals.h"

namespace framefs {
namespace {

struct CompactCommand {
  std::vector<std::string> frames;
  bool locking = false;
  bool verbose = false;
};

void add_options(CLI::App& app, CompactCommand& command) {
  app.add_option("FRAME", command.frames, "Frames: files, or directories of sparse frames")
      ->required();
  app.add_flag("--locking", command.locking, kLockingHelp);
  app.add_flag("-v,--verbose", command.verbose,
               "Print the saved space, also where stderr is no terminal");
}

void tell(const std::string& path, const FrameCompactor::Saving& saving) {
  const auto before = size_for_people(saving.before);
  std::cerr << (saving.after < saving.before
                    ? fmt::format("{}: {} to {}\n", printable(path), before,
                                  size_for_people(saving.after))
                    : fmt::format("{}: {}, nothing to save\n", printable(path), before));
}

constexpr CommandLine<CompactCommand> kCompactCommandLine{
    .name = "framefs compact",
    .about = "Rewrites Blosc2 frames without dead space.",
    .add_options = add_options};

}  // namespace

CommandSyntax compact_syntax() { return kCompactCommandLine.syntax(); }

int run_compact(std::span<const std::string> arguments) {
  auto parsed = kCompactCommandLine.parse(arguments);
  if (!parsed) return parsed.error();
  auto& command = *parsed;
  const bool tells = command.verbose || ::isatty(STDERR_FILENO) == 1;
  // A signal takes effect after the current frame: a half-compacted frame takes more space.
  const HeldSignals signals;
  CollectedLog log;
  FrameCompactor compactor(log.log(), command.locking);
  bool all = true;
  for (const auto& path : command.frames) {
    const auto saving = compactor.compact(path);
    if (!saving) {
      print_messages(log.take_failure(path, saving.error()));
      all = false;
    } else {
      print_messages(log.take_lines());
      if (tells && !saving->is_sparse) tell(path, *saving);
    }
    if (signals.has_arrived()) return kExitFailure;
  }
  return all ? kExitOk : kExitFailure;
}

}  // namespace framefs
