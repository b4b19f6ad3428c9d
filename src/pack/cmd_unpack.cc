#include "src/pack/cmd_unpack.h"

#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <map>
#include <optional>
#include <system_error>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/core.h>

#include "fs/core/error_map.h"
#include "src/cli/arguments.h"
#include "src/cli/collected_log.h"
#include "src/cli/exit_codes.h"
#include "src/mount/held_signals.h"
#include "src/pack/unpacker.h"

namespace framefs {
namespace {

namespace stdfs = std::filesystem;

constexpr const char* kStandardOutput = "-";

struct UnpackCommand {
  std::vector<std::string> frames;
  std::string out;
  bool out_is_directory = false;
  UnpackOptions options;
};

void add_options(CLI::App& app, UnpackCommand& command) {
  static const std::map<std::string, fs::ArrayViews> kArrayViews = {{"npy", fs::ArrayViews::npy},
                                                                    {"raw", fs::ArrayViews::raw}};
  auto& options = command.options;
  app.add_option("FRAME", command.frames,
                 "Frames: files, or directories of sparse ones; stores, and what is in them as "
                 "STORE/MEMBER")
      ->required();
  app.add_option("-o,--output", command.out,
                 "The file to make, or a folder for the files; - is standard output; otherwise "
                 "beside the frame, under the name that a mount shows");
  app.add_option("--arrays", options.arrays,
                 "What to make of an array: npy, a NumPy file; raw, its bytes")
      ->transform(CLI::Transformer(kArrayViews).description(""))
      ->type_name("npy|raw")
      ->default_str("npy");
  app.add_option("--offset", options.offset, "Where in its file the frame begins, as 4096 or 1M")
      ->transform(size_text());
  app.add_option("--threads", options.threads, "Threads that decode; 0: one for each CPU")
      ->check(CLI::Range(0U, 1024U));
  app.add_flag("-f,--force", options.may_replace, "Replace files that are there");
  app.add_flag("-q,--quiet", options.quiet, "Show no progress");
}

// Returns an error in the command that the parser cannot detect.
std::optional<std::string> contradiction(const UnpackCommand& command) {
  const bool is_file =
      !command.out.empty() && command.out != kStandardOutput && !command.out_is_directory;
  if (is_file && command.frames.size() > 1) {
    return fmt::format("{} is no folder, and there are several frames to unpack", command.out);
  }
  return std::nullopt;
}

// One run of the command.
class Unpack {
 public:
  explicit Unpack(const UnpackCommand& command) : command_(command) {
    // Output to a stream leaves no temporary file to remove.
    if (command.out != kStandardOutput) signals_.emplace();
  }

  int run() {
    bool all = true;
    for (const auto& frame : command_.frames) {
      all = unpack(frame) && all;
      if (is_stopped() || reader_is_gone_) return kExitFailure;
    }
    return all ? kExitOk : kExitFailure;
  }

 private:
  [[nodiscard]] bool is_stopped() const { return signals_ && signals_->has_arrived(); }

  // Prints a message for every failure.
  bool unpack(const std::string& frame) {
    CollectedLog log;
    const auto source = find_unpack_source(frame, command_.options, log.log());
    if (!source) return fail(log, frame, source.error());
    const auto target = target_of(frame, *source);
    if (!target) return false;
    const auto report = [&](const std::string& path, const codec::Error& error) {
      fail(log, path, error);
    };
    const auto unpacker = Unpacker::open(
        *source, command_.options, log.log(), [this] { return is_stopped(); }, report);
    if (!unpacker) return fail(log, frame, unpacker.error());
    const bool done = *target == kStandardOutput ? unpacker->to_stream(STDOUT_FILENO)
                      : source->is_directory     ? unpacker->to_directory(*target)
                                                 : unpacker->to_file(*target);
    print_messages(log.take_lines());
    return done;
  }

  // Returns the path of the output.  If there is no valid path, prints the reason and returns
  // nothing.
  std::optional<stdfs::path> target_of(const std::string& frame, const UnpackSource& source) {
    if (command_.out == kStandardOutput) {
      if (!source.is_directory) return stdfs::path(kStandardOutput);
      print_messages({fmt::format("{}: a store is a folder, and goes to no stream", frame)});
      return std::nullopt;
    }
    if (!command_.out.empty() && !command_.out_is_directory) return checked(frame, command_.out);
    if (source.name.empty()) {
      print_messages(
          {fmt::format("{}: its name says nothing of how to call the file: -o NAME", frame)});
      return std::nullopt;
    }
    const auto folder =
        command_.out_is_directory ? stdfs::path(command_.out) : source.file.parent_path();
    return checked(frame, folder / source.name);
  }

  // Refuses to overwrite the frame with its own content.
  static std::optional<stdfs::path> checked(const std::string& frame, const stdfs::path& target) {
    std::error_code none;
    if (!stdfs::equivalent(frame, target, none)) return target;
    print_messages({fmt::format("{}: is the frame itself", target.string())});
    return std::nullopt;
  }

  bool fail(CollectedLog& log, const std::string& path, const codec::Error& error) {
    if (error.kind == codec::Errc::system && error.sys == EPIPE) {
      // The reader closed the output, which is no error to report.
      reader_is_gone_ = true;
    } else if (error.kind == codec::Errc::system && error.sys == EEXIST) {
      print_messages({fmt::format("{} is there already; --force replaces it", path)});
    } else {
      print_messages(log.take_failure(path, error));
    }
    return false;
  }

  const UnpackCommand& command_;
  std::optional<HeldSignals> signals_;
  bool reader_is_gone_ = false;
};

}  // namespace

int run_unpack(std::span<const std::string> arguments) {
  UnpackCommand command;
  CLI::App app("Writes Blosc2 frames out as plain files.", "framefs unpack");
  add_options(app, command);
  if (const auto over = parse_arguments(app, arguments)) return *over;
  std::error_code none;
  command.out_is_directory = std::filesystem::is_directory(command.out, none);
  if (const auto wrong = contradiction(command)) return usage_error(app, *wrong);
  // A progress bar would be mixed with the data.
  command.options.quiet =
      command.options.quiet || (command.out == kStandardOutput && ::isatty(STDOUT_FILENO) == 1);
  return Unpack(command).run();
}

}  // namespace framefs
