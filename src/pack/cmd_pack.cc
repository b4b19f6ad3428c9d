#include "src/pack/cmd_pack.h"

#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <iostream>
#include <map>
#include <optional>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/core.h>

#include "codec/chunk/codec_names.h"
#include "codec/core/limits.h"
#include "fs/core/error_map.h"
#include "src/cli/arguments.h"
#include "src/cli/exit_codes.h"
#include "src/cli/size_text.h"
#include "src/pack/pack_file.h"

namespace framefs {
namespace {

constexpr const char* kStandardInput = "-";
constexpr const char* kSuffix = ".b2frame";

struct PackCommand {
  std::vector<std::string> files;
  std::string out;
  PackOptions options;
};

// Adds an option with a fixed set of names.  `to` receives the value of the given name.
template <class Words, class Target>
void add_choice(CLI::App& app, const std::string& option, const std::string& description,
                const Words& words, Target& to) {
  using Value = typename Words::value_type::second_type;
  std::map<std::string, Value> choices;
  for (const auto& [name, value] : words) choices.emplace(name, value);
  std::vector<std::string> names;
  for (const auto& [name, value] : choices) names.push_back(name);
  app.add_option_function<std::string>(
         option, [choices, &to](const std::string& name) { to = choices.at(name); }, description)
      ->check(CLI::IsMember(names).description("NAME"));
}

void add_options(CLI::App& app, PackCommand& command) {
  auto& options = command.options;
  app.add_option("FILE", command.files, "Files to pack; - is standard input")->required();
  app.add_option("-o,--output", command.out,
                 "The frame to make, or a folder for the frames; FILE.b2frame otherwise");
  add_choice(app, "--codec", "blosclz, lz4, lz4hc, zlib or zstd, which is what you get otherwise",
             codec::kCodecWords, options.encode.codec);
  app.add_option("--level", options.encode.clevel, "0 (plain copies) to 9; 5 unless given")
      ->check(CLI::Range(0, 9));
  app.add_option("--typesize", options.hints.typesize,
                 "Bytes of an item; found out by trial unless given")
      ->check(CLI::Range(1, 1 << 20));
  add_choice(app, "--filter",
             "none, shuffle, bitshuffle or bytedelta; found out by trial unless given",
             codec::kFilterWords, options.hints.filter);
  app.add_option("--chunk-size", options.chunksize, "Plain bytes of a chunk, as 512K or 4M")
      ->transform(size_text())
      ->check(CLI::Range(1.0, double{codec::kMaxChunkBytes}))
      ->default_str("4M");
  app.add_option("--block-size", options.encode.blocksize,
                 "Plain bytes of a block; by codec and level unless given")
      ->transform(size_text())
      ->check(CLI::Range(1.0, double{codec::kMaxBlockBytes}));
  app.add_option("--threads", options.threads, "Threads that compress; 0: one for each CPU")
      ->check(CLI::Range(0U, 1024U));
  app.add_flag("-q,--quiet", options.quiet, "Show no progress");
  app.add_flag("-f,--force", options.may_replace, "Replace frames that are there");
}

// Returns the path of the frame for a file.
std::filesystem::path target_of(const PackCommand& command, const std::filesystem::path& file) {
  const std::filesystem::path out(command.out);
  const bool into_folder = !command.out.empty() && std::filesystem::is_directory(out);
  if (!command.out.empty() && !into_folder) return out;
  auto name = into_folder ? out / file.filename() : file;
  name += kSuffix;
  return name;
}

// Returns an error in the command that the parser cannot detect.
std::optional<std::string> contradiction(const PackCommand& command) {
  const bool out_is_folder = !command.out.empty() && std::filesystem::is_directory(command.out);
  if (command.files.size() > 1 && !command.out.empty() && !out_is_folder) {
    return fmt::format("{} is no folder, and there are several files to pack", command.out);
  }
  const bool from_stdin = std::ranges::count(command.files, kStandardInput) > 0;
  if (from_stdin && (command.out.empty() || out_is_folder)) {
    return std::string("the frame of standard input needs a name: -o NAME");
  }
  const auto typesize = command.options.hints.typesize.value_or(1);
  if (typesize > command.options.chunksize) {
    return fmt::format("a chunk of {} bytes holds no item of {}", command.options.chunksize,
                       typesize);
  }
  return std::nullopt;
}

void tell(const PackCommand& command, const std::filesystem::path& target, const Packed& packed) {
  if (command.options.quiet || ::isatty(STDERR_FILENO) != 1) return;
  const double ratio = packed.stored == 0
                           ? 1
                           : static_cast<double>(packed.plain) / static_cast<double>(packed.stored);
  std::cerr << fmt::format("{}: {} to {}, {:.2f} times smaller\n", target.string(),
                           size_for_people(packed.plain), size_for_people(packed.stored), ratio);
}

bool pack_one(const PackCommand& command, const std::string& file, fs::WorkerPool& pool) {
  const auto target = target_of(command, file);
  const auto packed = pack_file(file, target, command.options, pool);
  if (packed) {
    tell(command, target, *packed);
    return true;
  }
  const auto& error = packed.error();
  if (error.kind == codec::Errc::system && error.sys == EEXIST) {
    std::cerr << fmt::format("framefs: {} is there already; --force replaces it\n",
                             target.string());
  } else {
    std::cerr << fmt::format("framefs: {}: {}\n", file, fs::describe(error));
  }
  return false;
}

int usage_error(const std::string& what) {
  std::cerr << fmt::format("framefs: {}\nRun framefs pack --help for more.\n", what);
  return kExitUsage;
}

}  // namespace

int run_pack(std::span<const std::string> arguments) {
  PackCommand command;
  CLI::App app("Packs plain files into Blosc2 frames.", "framefs pack");
  add_options(app, command);
  std::vector<std::string> reversed(arguments.rbegin(), arguments.rend());  // CLI11's order
  try {
    app.parse(std::move(reversed));
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() != 0) return usage_error(error.what());
    app.exit(error);  // --help
    return kExitOk;
  }
  if (const auto wrong = contradiction(command)) return usage_error(*wrong);
  fs::WorkerPool pool(command.options.threads);
  bool all = true;
  for (const auto& file : command.files) all = pack_one(command, file, pool) && all;
  return all ? kExitOk : kExitFailure;
}

}  // namespace framefs
