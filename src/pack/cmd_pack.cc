#include "src/pack/cmd_pack.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <iostream>
#include <optional>
#include <system_error>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/core.h>

#include "fs/core/diagnostics/error_map.h"
#include "fs/core/files/place.h"
#include "src/cli/arguments.h"
#include "src/cli/cause_text.h"
#include "src/cli/collected_log.h"
#include "src/cli/exit_codes.h"
#include "src/cli/frame_options.h"
#include "src/cli/given_path.h"
#include "src/cli/printable.h"
#include "src/cli/size_text.h"
#include "src/cli/tree_walk.h"
#include "src/mount/held_signals.h"
#include "src/pack/frame_recompressor.h"
#include "src/pack/made_outputs.h"
#include "src/pack/pack_estimate_report.h"
#include "src/pack/pack_file.h"
#include "src/pack/pack_input.h"
#include "src/pack/pack_recompress.h"
#include "src/pack/packed_already.h"
#include "src/pack/replacement_file.h"
#include "src/pack/same_content.h"
#include "src/pack/tree_options.h"
#include "src/pack/tree_transfer.h"

namespace framefs {
namespace {

struct PackCommand {
  std::vector<std::string> files;
  std::string out;
  PackOptions options;
  TransferOptions tree;
  FrameOptions frame;
  bool remove_source = false;
  bool nest = false;
  bool estimates = false;
  bool recompresses = false;
  bool json = false;
};

void add_options(CLI::App& app, PackCommand& command) {
  auto& options = command.options;
  app.add_option("FILE", command.files, "Files and directories to pack; - is standard input")
      ->required();
  app.add_option("-o,--output", command.out,
                 "The frame to make, or a directory for the frames, or - for standard output; "
                 "FILE.b2frame by default")
      ->option_text("OUT");
  add_tree_options(app, command.tree);
  app.add_flag("--verify", options.verify, "Read each frame back before it gets its name");
  app.add_flag("--remove-source", command.remove_source,
               "Delete each FILE whose frame is verified and synced");
  app.add_flag("--nest", command.nest,
               "Pack frames and containers, too: make frames of their bytes");
  app.add_flag("--estimate", command.estimates,
               "Write nothing: compress a sample of at most 256 MiB, and print what packing saves");
  app.add_flag("--json", command.json, "Print the estimate as a JSON object");
  app.add_flag("--recompress", command.recompresses,
               "FILE is a frame, or a directory of frames: replace each by one with these options, "
               "after the new one was read back");
  add_frame_options(app, command.frame, {.level = "5", .chunk_size = "4M"});
  app.add_option("--threads", options.threads, "Threads that compress; 0: one for each CPU")
      ->check(whole_number(0, 1024))
      ->option_text("N")
      ->default_str("0");
  app.add_flag("-q,--quiet", options.quiet, "Show no progress bar");
  app.add_flag("-f,--force", options.may_replace, "Replace existing frames");
  app.add_flag("--locking", options.locking, kLockingHelp);
}

// Returns the path of the frame for a file.
std::filesystem::path target_of(const PackCommand& command, const std::filesystem::path& file) {
  if (command.out.empty() && file == kStandardStream) return kStandardStream;
  std::filesystem::path out(command.out);
  const bool into_folder = target_kind_of(out) == TargetKind::directory;
  if (!command.out.empty() && !into_folder) return out;
  const auto place = fs::Place::given(file);
  if (!place) return file;  // whose open then fails
  return (into_folder ? out : file.parent_path()) / packed_name(*place);
}

// Returns an error in the command that the parser cannot detect.
std::optional<std::string> contradiction(const PackCommand& command) {
  const auto out = target_kind_of(command.out);
  const bool out_is_folder = out == TargetKind::directory;
  if (command.files.size() > 1 && !command.out.empty() && !out_is_folder) {
    return fmt::format("{} is no directory, and there are several files to pack", command.out);
  }
  for (const auto& file : command.files) {
    if (out == TargetKind::stream && is_tree(file)) return no_stream_of(file);
    if (!command.out.empty() && is_tree(file) && lies_in_tree(command.out, file)) {
      return fmt::format("{} lies in {}, which is to be packed", command.out, file);
    }
  }
  const auto inputs = std::ranges::count(command.files, kStandardStream);
  if (inputs > 1) return std::string("standard input can be read once only");
  if (inputs == 1 && out_is_folder) {
    return std::string("the frame of standard input needs a name: -o NAME, or -o - for a stream");
  }
  const bool to_stream = command.out == kStandardStream || (command.out.empty() && inputs == 1);
  if (to_stream && ::isatty(STDOUT_FILENO) == 1) {
    return std::string("a frame is not written to a terminal: -o NAME, or a pipe");
  }
  const bool to_nowhere = to_stream || out == TargetKind::stream;
  if (command.remove_source && (inputs == 1 || to_nowhere)) {
    return std::string("--remove-source needs files, and frames that can be read back");
  }
  const auto chunksize = command.frame.chunk_size.value_or(command.options.chunksize);
  return items_without_room(command.frame.typesize, chunksize);
}

// Returns an error for an option that --estimate or --recompress makes meaningless.
std::optional<std::string> misplaced(const CLI::App& app, const PackCommand& command) {
  if (command.json && !command.estimates) return std::string("--json is for --estimate");
  if (!command.estimates && !command.recompresses) return std::nullopt;
  std::vector<std::string> excluded{"--output", "--verify", "--remove-source", "--force"};
  const auto* const way = command.estimates ? "--estimate" : "--recompress";
  if (command.estimates) {
    excluded.insert(excluded.end(), {"--recompress", "--locking"});
  } else {
    excluded.insert(excluded.end(), {"--nest", "--typesize"});
  }
  for (const auto& option : excluded) {
    if (app.count(option) > 0) return fmt::format("{} and {} exclude each other", way, option);
  }
  if (std::ranges::count(command.files, kStandardStream) > 0) {
    return fmt::format("{} needs files, not standard input", way);
  }
  return std::nullopt;
}

void tell(const PackCommand& command, const std::filesystem::path& target, const Packed& packed) {
  if (command.options.quiet || ::isatty(STDERR_FILENO) != 1) return;
  const double ratio = packed.stored == 0
                           ? 1
                           : static_cast<double>(packed.plain) / static_cast<double>(packed.stored);
  std::cerr << fmt::format("{}: {} to {}, {:.2f} times smaller\n", printable(target.string()),
                           size_for_people(packed.plain), size_for_people(packed.stored), ratio);
}

// Deletes an original if it is still in the state in which it was packed.
codec::Status remove_original(const fs::Place& file, const struct stat& packed) {
  FRAMEFS_TRY(const auto now, file.stat());
  // Deleting one hard link changes the ctime and the link count of the others.
  const bool is_same = packed.st_nlink > 1 ? same_content(now, packed)
                                           : fs::identity_of(now) == fs::identity_of(packed);
  if (!is_same) return fs::refusal(ESTALE, "changed while it was packed, and is kept");
  if (::unlinkat(file.directory(), file.name().c_str(), 0) != 0) return fs::system_error("unlink");
  return {};
}

void print_failure(const std::filesystem::path& path, const codec::Error& error) {
  print_messages({failure_text(path.string(), error)});
}

// Packs every file of a directory.
bool pack_tree(const PackCommand& command, const std::string& top, MadeOutputs& made,
               fs::WorkerPool& pool) {
  const auto& options = command.options;
  const bool nests = command.nest;
  const auto name = [nests](const TreeEntry& entry) -> codec::Result<std::optional<ConvertedName>> {
    if (is_packed_entry(entry) && (!nests || entry.is_sparse_frame)) return std::nullopt;
    const auto frame = packed_name(entry.place);
    return ConvertedName{.name = frame, .way = std::filesystem::path(frame).extension().string()};
  };
  const auto make = [&](const TreeEntry& entry,
                        const fs::Place& target) -> codec::Result<TransferredBytes> {
    FRAMEFS_TRY(auto input, PackInput::open_file(entry.place, options.stop));
    FRAMEFS_TRY(const auto packed, pack_file(input, target, options, pool));
    return TransferredBytes{.before = packed.plain, .after = packed.stored};
  };
  const auto finish = [&](const TreeEntry& entry, const fs::Place& target,
                          bool is_new) -> codec::Status {
    if (!command.remove_source) return {};
    if (!is_new) {
      FRAMEFS_TRY(const auto original, PackInput::open_file(entry.place, options.stop));
      FRAMEFS_CHECK(verify_packed(target, target.name(), original, options));
    }
    return remove_original(entry.place, entry.stat);
  };
  const auto stop = [&options] { return options.stop && options.stop(); };
  const TreeRun run{.top = top,
                    .out = command.out,
                    .has_several = command.files.size() > 1,
                    .quiet = options.quiet,
                    .verb = "packed"};
  return run_transfer(run, command.tree, {.name = name, .make = make, .finish = finish}, made,
                      stop) &&
         !stop();
}

codec::Result<PackInput> open_input(const PackCommand& command, const std::string& file) {
  if (file == kStandardStream) return PackInput::standard_input(command.options.stop);
  FRAMEFS_TRY(const auto place, fs::Place::given(file));
  return PackInput::open(place, command.options.stop);
}

// Packs a file, unless that would replace the file itself or what the run made of another one.
codec::Result<Packed> pack_to(const PackCommand& command, const std::string& file,
                              const std::filesystem::path& target, MadeOutputs& made,
                              fs::WorkerPool& pool) {
  const auto& options = command.options;
  FRAMEFS_TRY(auto input, open_input(command, file));
  if (target == kStandardStream) return pack_to_stream(input, STDOUT_FILENO, target, options, pool);
  if (target_kind_of(target) == TargetKind::stream) {
    FRAMEFS_TRY(const auto stream, open_stream_target(target));
    return pack_to_stream(input, stream.get(), target.filename(), options, pool);
  }
  std::error_code none;
  if (std::filesystem::equivalent(file, target, none)) {
    return codec::of_target(fs::refusal(EINVAL, "is the file that is to be packed"));
  }
  FRAMEFS_TRY(const auto place, place_of_target(target));
  FRAMEFS_CHECK(made.check(place, Output::result));
  FRAMEFS_TRY(const auto packed, pack_file(input, place, options, pool));
  made.add(place, Output::result);
  return packed;
}

bool pack_one(const PackCommand& command, const std::string& file, MadeOutputs& made,
              fs::WorkerPool& pool) {
  if (is_tree(file)) return pack_tree(command, file, made, pool);
  if (!command.nest && is_packed_already(file)) {
    print_messages({fmt::format(
        "{}: is a frame or container already; --nest makes a frame of its bytes", file)});
    return false;
  }
  const auto target = target_of(command, file);
  const auto place = fs::Place::given(file);
  const auto before = place ? place->stat() : std::unexpected(place.error());
  const auto packed = pack_to(command, file, target, made, pool);
  if (packed) {
    tell(command, target, *packed);
    if (!command.remove_source || !before) return true;
    const auto removed = remove_original(*place, *before);
    if (!removed) print_failure(file, removed.error());
    return removed.has_value();
  }
  const auto& error = packed.error();
  if (error.kind == codec::Errc::system && error.sys == EINTR) return false;  // a signal
  print_failure(error.is_of_target ? target_text(target) : file, error);
  return false;
}

void set_frame_options(PackCommand& command) {
  const auto& given = command.frame;
  auto& options = command.options;
  auto& encode = options.encode;
  encode.codec = given.codec.value_or(encode.codec);
  encode.clevel = given.level.value_or(encode.clevel);
  encode.blocksize = given.block_size.value_or(encode.blocksize);
  options.hints = {.typesize = given.typesize, .filter = given.filter};
  options.chunksize = given.chunk_size.value_or(options.chunksize);
  options.checksums = given.checksums.value_or(options.checksums);
}

constexpr CommandLine<PackCommand> kPackCommandLine{
    .name = "framefs pack",
    .about = "Packs plain files into Blosc2 frames.",
    .add_options = add_options,
    .contradiction = contradiction,
    .misplaced = misplaced};

}  // namespace

CommandSyntax pack_syntax() { return kPackCommandLine.syntax(); }

int run_pack(std::span<const std::string> arguments) {
  auto parsed = kPackCommandLine.parse(arguments);
  if (!parsed) return parsed.error();
  auto& command = *parsed;
  std::ranges::transform(command.files, command.files.begin(), given_path);
  set_frame_options(command);
  command.options.verify = command.options.verify || command.remove_source;
  command.tree.may_replace = command.options.may_replace;
  command.tree.locking = command.options.locking;
  if (command.estimates) {
    fs::WorkerPool pool(command.options.threads);
    const EstimateOptions how{
        .filter = command.tree.filter, .nest = command.nest, .json = command.json};
    return report_estimate(command.files, command.options, how, pool) ? kExitOk : kExitFailure;
  }
  std::optional<HeldSignals> signals;
  // The temporary file is removed before the process ends.  Output to a stream has none.
  if (target_kind_of(command.out) != TargetKind::stream) {
    signals.emplace();
    command.options.stop = [&signals] { return signals->has_arrived(); };
  }
  fs::WorkerPool pool(command.options.threads);
  if (command.recompresses) {
    const GivenSizes sizes{command.frame.chunk_size, command.frame.block_size};
    const bool done = recompress_frames(command.files, command.options, sizes, command.tree, pool);
    return done ? kExitOk : kExitFailure;
  }
  MadeOutputs made;
  bool all = true;
  for (const auto& file : command.files) {
    all = pack_one(command, file, made, pool) && all;
    if (signals && signals->has_arrived()) return kExitFailure;
  }
  return all ? kExitOk : kExitFailure;
}

}  // namespace framefs
