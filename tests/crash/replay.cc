// Replays a log of what a daemon did to a folder, cuts it, and checks the frames that a crash there
// would leave.
//
//   framefs_crash_replay LOG INITIAL [OPTION...]
//
// INITIAL is the folder at the beginning of the log.
//
//   --cuts N           cut at N random places                                 (every place)
//   --losses KIND,...  kinds of loss to try                                   (all kinds)
//   --images N         images for each random kind of loss                    (3)
//   --seed N
//   --final FOLDER     the folder that the complete log must lead to
//   --any-names        lose changes of names in any order, unlike with a journal
//   --at N --losses KIND --seed N --write FOLDER   write the image of a reported failure
//
// A kind of loss is nothing, all, ends, sectors or one: see disk_file.h.  Exit code 1 for a
// failure.
#include <algorithm>
#include <charconv>
#include <fstream>
#include <iostream>
#include <optional>
#include <random>
#include <set>
#include <string_view>

#include <fmt/core.h>

#include "tests/crash/crash_check.h"
#include "tests/crash/log_reader.h"
#include "tests/support/random_seed.h"

namespace framefs::test {
namespace {

namespace stdfs = std::filesystem;

struct Options {
  std::string log;
  std::string initial;
  std::uint64_t cuts = 0;  // 0: all
  std::uint64_t images = 3;
  std::uint64_t seed = random_seed();
  std::string final_folder;
  bool any_names = false;
  std::uint64_t at = 0;
  std::vector<Loss> losses{std::begin(kLosses), std::end(kLosses)};
  std::string write;
};

bool parse_number(std::string_view text, std::uint64_t& to) {
  const auto result = std::from_chars(text.data(), text.data() + text.size(), to);
  return result.ec == std::errc() && result.ptr == text.data() + text.size();
}

bool parse_losses(std::string_view text, std::vector<Loss>& losses) {
  losses.clear();
  while (true) {
    const auto comma = std::min(text.find(','), text.size());
    const auto* const found = std::ranges::find_if(
        kLosses, [name = text.substr(0, comma)](Loss loss) { return loss_name(loss) == name; });
    if (found == std::end(kLosses)) return false;
    losses.push_back(*found);
    if (comma == text.size()) return true;
    text.remove_prefix(comma + 1);
  }
}

bool set_option(Options& options, std::string_view name, std::string_view value) {
  if (name == "--final") options.final_folder = value;
  if (name == "--write") options.write = value;
  if (name == "--final" || name == "--write") return true;
  if (name == "--losses") return parse_losses(value, options.losses);
  const std::pair<std::string_view, std::uint64_t*> numbers[] = {{"--cuts", &options.cuts},
                                                                 {"--images", &options.images},
                                                                 {"--seed", &options.seed},
                                                                 {"--at", &options.at}};
  for (const auto& [known, number] : numbers) {
    if (known == name) return parse_number(value, *number);
  }
  return false;
}

std::optional<Options> parse_arguments(std::span<char* const> arguments) {
  Options options;
  std::vector<std::string> names;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string_view argument = arguments[i];
    if (argument == "--any-names") {
      options.any_names = true;
    } else if (!argument.starts_with("--")) {
      names.emplace_back(argument);
    } else if (++i == arguments.size() || !set_option(options, argument, arguments[i])) {
      std::cerr << "framefs_crash_replay: cannot use " << argument << '\n';
      return std::nullopt;
    }
  }
  if (names.size() != 2) return std::nullopt;
  options.log = names[0];
  options.initial = names[1];
  return options;
}

// Chooses the numbers of records after which to cut.
std::set<std::uint64_t> choose_cuts(const Options& options, std::uint64_t records) {
  std::set<std::uint64_t> cuts;
  if (options.cuts == 0 || options.cuts > records) {
    for (std::uint64_t i = 0; i <= records; ++i) cuts.insert(i);
    return cuts;
  }
  std::mt19937_64 random(options.seed);
  while (cuts.size() < options.cuts) cuts.insert(random() % (records + 1));
  return cuts;
}

class Replay {
 public:
  Replay(const Options& options, const LogReader& log)
      : options_(options), log_(log), check_(options.initial, !options.any_names) {}

  bool run() {
    const auto& records = log_.records();
    const auto cuts = choose_cuts(options_, records.size());
    for (std::uint64_t at = 0; at <= records.size() && failures_ < kMaxFailures; ++at) {
      if (cuts.contains(at)) cut(at);
      if (at < records.size() && !check_.apply(records[at])) {
        fail(fmt::format("record {} is impossible: {}", at, records[at].text()));
        return false;
      }
    }
    if (!options_.final_folder.empty() && failures_ == 0) compare_with_folder();
    const auto& counts = check_.counts();
    fmt::print(
        "{} records, {} cuts, {} images, {} frames in them ({} different): {} as they were last, "
        "{} as they "
        "had been, {} never synced and lost; {} replaced names\n",
        records.size(), cuts.size(), counts.images, counts.frames, counts.decoded, counts.latest,
        counts.older, counts.never_synced, counts.names);
    return failures_ == 0;
  }

  bool write_image() {
    for (std::uint64_t at = 0; at < options_.at; ++at) check_.apply(log_.records().at(at));
    const Variant variant{options_.losses.front(), options_.seed};
    for (const auto& [path, bytes] : check_.image(variant)) {
      const auto to = stdfs::path(options_.write) / path;
      stdfs::create_directories(bytes ? to.parent_path() : to);
      if (!bytes) continue;
      std::ofstream out(to, std::ios::binary | std::ios::trunc);
      out.write(as_chars(bytes->data()), static_cast<std::streamsize>(bytes->size()));
      if (!out.flush()) return false;
    }
    for (const auto& wrong : check_.check(variant)) fmt::print("{}\n", wrong);
    return true;
  }

 private:
  static constexpr std::uint64_t kMaxFailures = 20;

  void fail(const std::string& text) {
    ++failures_;
    fmt::print(stderr, "{}\n", text);
  }

  void cut(std::uint64_t at) {
    for (const auto loss : options_.losses) {
      // These two kinds are not random.
      const bool is_random = loss != Loss::nothing && loss != Loss::all;
      for (std::uint64_t i = 0; i < (is_random ? options_.images : 1); ++i) {
        check({loss, options_.seed + at * options_.images + i}, at);
      }
    }
  }

  void check(const Variant& variant, std::uint64_t at) {
    const auto wrong = check_.check(variant);
    if (wrong.empty()) return;
    fail(fmt::format("--at {} --losses {} --seed {}{}, after {}", at, loss_name(variant.loss),
                     variant.seed, options_.any_names ? " --any-names" : "",
                     at == 0 ? "nothing" : log_.records()[at - 1].text()));
    for (const auto& line : wrong) fmt::print(stderr, "    {}\n", line);
  }

  // Checks that the log is complete.
  void compare_with_folder() {
    auto image = check_.image({});
    for (const auto& entry : stdfs::recursive_directory_iterator(options_.final_folder)) {
      if (entry.is_symlink() || !(entry.is_directory() || entry.is_regular_file())) continue;
      const auto path = stdfs::relative(entry.path(), options_.final_folder).string();
      const auto known = image.extract(path);
      if (!known) {
        fail(fmt::format("the log has nothing of {}", path));
      } else if (entry.is_regular_file() && known.mapped() != read_file(entry.path())) {
        fail(fmt::format("the log leads to another {}", path));
      }
    }
    for (const auto& [path, bytes] : image)
      fail(fmt::format("the log has {}, which is not there", path));
  }

  static Bytes read_file(const stdfs::path& path) {
    Bytes bytes(stdfs::file_size(path));
    std::ifstream in(path, std::ios::binary);
    in.read(as_chars(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    return bytes;
  }

  const Options& options_;
  const LogReader& log_;
  CrashCheck check_;
  std::uint64_t failures_ = 0;
};

}  // namespace
}  // namespace framefs::test

int main(int argc, char** argv) {
  using namespace framefs::test;
  const auto options = parse_arguments(std::span(argv, static_cast<std::size_t>(argc)).subspan(1));
  if (!options) {
    std::cerr << "usage: framefs_crash_replay LOG INITIAL [OPTION...]; its source says more\n";
    return 2;
  }
  const auto log = LogReader::open(options->log);
  if (!log) {
    std::cerr << "framefs_crash_replay: " << options->log << " is no whole log\n";
    return 1;
  }
  if (options->write.empty()) fmt::print("seed {}\n", options->seed);
  Replay replay(*options, *log);
  const bool good = options->write.empty() ? replay.run() : replay.write_image();
  return good ? 0 : 1;
}
