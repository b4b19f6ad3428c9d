#include "src/pack/cmd_unpack.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <iostream>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/core.h>

#include "fs/core/diagnostics/error_map.h"
#include "fs/core/files/place.h"
#include "fs/net/store/source_url.h"
#include "fs/source/suffixes.h"
#include "src/cli/arguments.h"
#include "src/cli/cause_text.h"
#include "src/cli/collected_log.h"
#include "src/cli/exit_codes.h"
#include "src/cli/printable.h"
#include "src/cli/remote_access.h"
#include "src/cli/remote_opener.h"
#include "src/cli/tree_walk.h"
#include "src/mount/held_signals.h"
#include "src/pack/made_outputs.h"
#include "src/pack/replacement_file.h"
#include "src/pack/spooled_input.h"
#include "src/pack/tree_options.h"
#include "src/pack/tree_transfer.h"
#include "src/pack/unpacker.h"

namespace framefs {
namespace {

namespace stdfs = std::filesystem;

struct UnpackCommand {
  std::vector<std::string> frames;
  std::string out;
  UnpackOptions options;
  TransferOptions tree;
  fs::RemoteOptions remote;
};

constexpr std::array<std::pair<std::string_view, fs::ArrayViews>, 2> kUnpackViews = {
    {{"npy", fs::ArrayViews::npy}, {"raw", fs::ArrayViews::raw}}};

void add_options(CLI::App& app, UnpackCommand& command) {
  auto& options = command.options;
  app.add_option("FRAME", command.frames,
                 "Frames: files, or directories of sparse frames; containers, and their members as "
                 "CONTAINER/MEMBER; directories of frames; URLs; - is standard input")
      ->transform(path_or_url())
      ->required();
  app.add_option("-o,--output", command.out,
                 "The file to write, or a directory for the files, or - for standard output; by "
                 "default beside the frame, under the name that a mount shows")
      ->option_text("OUT");
  add_tree_options(app, command.tree);
  add_choice(app, "--arrays", "Write an array as a NumPy file, or as its bytes", kUnpackViews,
             options.arrays)
      ->default_str("npy");
  app.add_option("--offset", options.offset,
                 "The position of the frame in its file, such as 4096 or 1M")
      ->transform(size_text())
      ->option_text("SIZE");
  app.add_option("--threads", options.threads, "Threads that decode; 0: one for each CPU")
      ->check(whole_number(0, 1024))
      ->option_text("N")
      ->default_str("0");
  app.add_flag("-f,--force", options.may_replace, "Replace existing files");
  app.add_flag("-q,--quiet", options.quiet, "Show no progress bar");
  add_remote_access_options(app, command.remote);
}

std::optional<std::string> misplaced_option(const CLI::App& app, const UnpackCommand& command) {
  if (command.options.offset > 0 && has_url(command.frames)) {
    return "--offset needs a FRAME that is not a URL";
  }
  return misplaced_remote_option(app, command.frames);
}

// Returns an error in the command that the parser cannot detect.
std::optional<std::string> contradiction(const UnpackCommand& command) {
  const auto out = target_kind_of(command.out);
  const bool is_file = !command.out.empty() && out == TargetKind::file;
  if (is_file && command.frames.size() > 1) {
    return fmt::format("{} is no directory, and there are several frames to unpack", command.out);
  }
  const auto inputs = std::ranges::count(command.frames, kStandardStream);
  if (inputs > 1) return std::string("standard input can be read once only");
  if (inputs == 1 && !command.out.empty() && out == TargetKind::directory) {
    return std::string("the file of standard input needs a name: -o NAME, or -o - for a stream");
  }
  for (const auto& frame : command.frames) {
    if (!is_tree(frame)) continue;
    if (out == TargetKind::stream) return no_stream_of(frame);
    if (!command.out.empty() && lies_in_tree(command.out, frame)) {
      return fmt::format("{} lies in {}, which is to be unpacked", command.out, frame);
    }
  }
  return std::nullopt;
}

// One run of the command.
class Unpack {
 public:
  explicit Unpack(const UnpackCommand& command)
      : command_(command), out_(target_kind_of(command.out)), remote_(command.remote) {
    // Output to a stream leaves no temporary file to remove, but standard input does.
    const bool spools = std::ranges::count(command.frames, kStandardStream) > 0;
    if (out_ != TargetKind::stream || spools) signals_.emplace();
  }

  int run() {
    bool all = true;
    for (const auto& frame : command_.frames) {
      if (frame == kStandardStream) {
        all = unpack_standard_input() && all;
      } else {
        all = (is_tree(frame) ? unpack_tree(frame) : unpack(frame)) && all;
      }
      if (is_stopped() || reader_is_gone_) return kExitFailure;
    }
    return all ? kExitOk : kExitFailure;
  }

 private:
  [[nodiscard]] bool is_stopped() const { return signals_ && signals_->has_arrived(); }

  bool unpack_standard_input() {
    const auto input = SpooledInput::read([this] { return is_stopped(); });
    const auto place = input ? input->place() : std::unexpected(input.error());
    if (place) {
      CollectedLog log;
      return unpack(place->path(), command_.out.empty() ? kStandardStream : command_.out,
                    find_unpack_source(*place, command_.options, log.log()), log);
    }
    if (!is_stopped()) print_messages({failure_text("standard input", place.error())});
    return false;
  }

  bool unpack(const std::string& frame) {
    CollectedLog log;
    if (net::is_source_url(frame)) {
      const auto source =
          find_remote_source(frame, command_.options, command_.tree.filter, remote_, log.log());
      return unpack(net::shown_source(frame), command_.out, source, log);
    }
    return unpack(frame, command_.out, find_unpack_source(frame, command_.options, log.log()), log);
  }

  // Prints a message for every failure.  `frame` is its name in messages.
  bool unpack(const std::string& frame, std::string_view out,
              const codec::Result<UnpackSource>& source, CollectedLog& log) {
    if (!source) return fail(log, frame, source.error());
    const auto target = target_of(frame, out, *source);
    if (!target) return false;
    const auto report = [&](const std::string& path, const codec::Error& error) {
      fail(log, path, error);
    };
    const auto unpacker = Unpacker::open(
        *source, command_.options, log.log(), [this] { return is_stopped(); }, report);
    if (!unpacker) return fail(log, frame, unpacker.error());
    const bool done = write_out(*unpacker, *source, *target, log);
    print_messages(log.take_lines());
    return done;
  }

  // Unpacks every frame of a directory.
  bool unpack_tree(const std::string& top) {
    const TreeConverter converter{
        .name = [this](const TreeEntry& entry) { return name_in_tree(entry); },
        .make = [this](const TreeEntry& entry,
                       const fs::Place& target) { return make_in_tree(entry, target); },
        .finish = {}};
    const TreeRun run{.top = top,
                      .out = command_.out,
                      .has_several = command_.frames.size() > 1,
                      .quiet = command_.options.quiet,
                      .verb = "unpacked"};
    return run_transfer(run, command_.tree, converter, made_, [this] { return is_stopped(); });
  }

  [[nodiscard]] codec::Result<std::optional<ConvertedName>> name_in_tree(
      const TreeEntry& entry) const {
    const auto& file = entry.place.name();
    if (fs::expected_content(file) == fs::Expected::nothing) return std::nullopt;
    CollectedLog log;
    const auto source = find_unpack_source(entry.place, command_.options, log.log());
    // A file that only has the name of a frame is a plain file, as in a mount.
    if (!source && S_ISREG(entry.stat.st_mode) && is_no_frame(source.error())) return std::nullopt;
    if (!source) return std::unexpected(source.error());
    if (source->name.empty()) return std::nullopt;
    return ConvertedName{.name = source->name, .way = stdfs::path(file).extension().string()};
  }

  [[nodiscard]] codec::Result<TransferredBytes> make_in_tree(const TreeEntry& entry,
                                                             const fs::Place& target) const {
    CollectedLog log;
    std::optional<codec::Error> first;
    const auto report = [&](const std::string&, const codec::Error& error) {
      if (!first) first = error;
    };
    FRAMEFS_TRY(const auto source, find_unpack_source(entry.place, command_.options, log.log()));
    FRAMEFS_TRY(const auto unpacker,
                Unpacker::open(
                    source, command_.options, log.log(), [this] { return is_stopped(); }, report));
    const bool done =
        source.is_directory ? unpacker.to_directory(target) : unpacker.to_file(target);
    print_messages(log.take_lines());
    if (!done) return std::unexpected(first.value_or(codec::Error{}));
    FRAMEFS_TRY(const auto st, codec::of_target(target.stat()));
    return TransferredBytes{.before = static_cast<std::uint64_t>(entry.stat.st_size),
                            .after = static_cast<std::uint64_t>(st.st_size)};
  }

  // A directory may be named with a slash at its end.  A link of that name is not followed.
  static codec::Result<fs::Place> place_of(const stdfs::path& target, const UnpackSource& source) {
    const bool has_slash = source.is_directory && !target.has_filename();
    FRAMEFS_TRY(const auto place, place_of_target(has_slash ? target.parent_path() : target));
    return place.beside(place.name());
  }

  bool write_out(const Unpacker& unpacker, const UnpackSource& source, const stdfs::path& target,
                 CollectedLog& log) {
    if (target == kStandardStream) return unpacker.to_stream(STDOUT_FILENO, target_text(target));
    if (!source.is_directory && target_kind_of(target) == TargetKind::stream) {
      const auto stream = open_stream_target(target);
      return stream ? unpacker.to_stream(stream->get(), target) : fail(log, target, stream.error());
    }
    const auto place = place_of(target, source);
    if (!place) return fail(log, target, place.error());
    const auto is_free = made_.check(*place, Output::result);
    if (!is_free) return fail(log, target, is_free.error());
    const bool done =
        source.is_directory ? unpacker.to_directory(*place) : unpacker.to_file(*place);
    // Also the directory of a container that was unpacked in part.
    if (done || source.is_directory) made_.add(*place, Output::result);
    return done;
  }

  // Returns the path of the output.  If there is no valid path, prints the reason and returns
  // nothing.
  std::optional<stdfs::path> target_of(const std::string& frame, std::string_view out,
                                       const UnpackSource& source) {
    if (out == kStandardStream) {
      if (!source.is_directory) return stdfs::path(kStandardStream);
      print_messages({fmt::format(
          "{} is a container, which unpacks to a directory and not to a stream", frame)});
      return std::nullopt;
    }
    if (!out.empty() && out_ != TargetKind::directory) return checked(frame, stdfs::path(out));
    if (source.name.empty()) {
      print_messages(
          {fmt::format("{}: no file name follows from this name; -o NAME gives one", frame)});
      return std::nullopt;
    }
    const bool is_prefix = source.filter != nullptr;
    if (is_prefix && !out.empty() && command_.frames.size() == 1) return stdfs::path(out);
    const auto beside = source.file ? stdfs::path(source.path).parent_path() : stdfs::path();
    const auto folder = out_ == TargetKind::directory ? stdfs::path(command_.out) : beside;
    return checked(frame, folder / source.name);
  }

  // Refuses to overwrite the frame with its own content.
  static std::optional<stdfs::path> checked(const std::string& frame, const stdfs::path& target) {
    std::error_code none;
    if (!stdfs::equivalent(frame, target, none)) return target;
    print_messages({fmt::format("{} is the frame itself", target.string())});
    return std::nullopt;
  }

  bool fail(CollectedLog& log, const std::string& path, const codec::Error& error) {
    if (error.kind == codec::Errc::system && error.sys == EPIPE) {
      // The reader closed the output, which is no error to report.
      reader_is_gone_ = true;
    } else if (error.kind == codec::Errc::system && error.sys == EEXIST) {
      print_messages({failure_text(path, error)});
    } else {
      print_messages(log.take_failure(path, error));
    }
    return false;
  }

  const UnpackCommand& command_;
  const TargetKind out_;
  MadeOutputs made_;
  RemoteOpener remote_;
  std::optional<HeldSignals> signals_;
  bool reader_is_gone_ = false;
};

constexpr CommandLine<UnpackCommand> kUnpackCommandLine{
    .name = "framefs unpack",
    .about = "Writes Blosc2 frames out as plain files.",
    .add_options = add_options,
    .contradiction = contradiction,
    .misplaced = misplaced_option};

}  // namespace

CommandSyntax unpack_syntax() { return kUnpackCommandLine.syntax(); }

int run_unpack(std::span<const std::string> arguments) {
  auto parsed = kUnpackCommandLine.parse(arguments);
  if (!parsed) return parsed.error();
  auto& command = *parsed;
  command.tree.may_replace = command.options.may_replace;
  // A progress bar would be mixed with the data.
  const bool is_to_output =
      command.out == kStandardStream ||
      (command.out.empty() && std::ranges::count(command.frames, kStandardStream) > 0);
  command.options.quiet = command.options.quiet || (is_to_output && ::isatty(STDOUT_FILENO) == 1);
  return Unpack(command).run();
}

}  // namespace framefs
