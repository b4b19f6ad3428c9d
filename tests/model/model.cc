// Makes the same random changes to files in a mount and to plain files, and compares them.
//
//   framefs_model TESTED PLAIN [OPTION...]
//
// TESTED and PLAIN are folders with the same files.  Existing files are used and must be equal at
// first.
//
//   --also FOLDER    another mount of TESTED's SOURCE.  The operations on a file go through the
//                    mounts in turn, a few through each.  The file is synced in between, because a
//                    mount shows other mounts' changes once they are committed.
//   --operations N   total                              (10000)
//   --threads N      each has its own files             (1)
//   --files N        per thread                         (1)
//   --size N         bytes of a file, at most           (1000000)
//   --write N        bytes of an operation, at most     (200000)
//   --seed N         determines all operations of each thread on its files
//   --only KIND,...  only these kinds of operations
//   --but KIND,...   all kinds except these
//   --header N       files have fixed sizes and a read-only header of N bytes
//
// A kind is write, append, truncate, punch, zero, allocate, mmap, direct, sync, reopen, rename,
// read, seek or check.  The first difference ends the program with exit code 1; it prints the last
// operations before the difference.
#include <algorithm>
#include <atomic>
#include <charconv>
#include <deque>
#include <filesystem>
#include <iostream>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string_view>
#include <thread>

#include <fmt/core.h>

#include "tests/model/paired_file.h"
#include "tests/support/random_seed.h"

namespace framefs::test {
namespace {

// How many operations on a file go through one mount, on average.
constexpr std::uint64_t kTurn = 4;

struct Options {
  PairedFolders folders;
  std::uint64_t operations = 10000;
  std::uint64_t threads = 1;
  std::uint64_t files = 1;
  std::uint64_t size = 1000000;
  std::uint64_t write = 200000;
  std::uint64_t seed = random_seed();
  OperationShares shares = {{OperationKind::write, 30},     {OperationKind::append, 8},
                            {OperationKind::truncate, 6},   {OperationKind::punch, 4},
                            {OperationKind::zero, 2},       {OperationKind::allocate, 2},
                            {OperationKind::mmap_write, 6}, {OperationKind::write_direct, 3},
                            {OperationKind::sync, 2},       {OperationKind::reopen, 3},
                            {OperationKind::rename, 1},     {OperationKind::read, 26},
                            {OperationKind::seek, 5},       {OperationKind::check, 2}};
  PairOptions pair;
};

class Thread {
 public:
  Thread(const Options& options, std::uint64_t number)
      : options_(options),
        number_(number),
        operations_(options.seed * 1000 + number, options.shares, options.size, options.write) {}

  bool run(const std::atomic<bool>& stop) {
    for (std::uint64_t i = 0; i < options_.files; ++i) {
      const auto name =
          fmt::format("file-{}-{}{}", number_, i, options_.pair.header_bytes > 0 ? ".npy" : "");
      files_.push_back(std::make_unique<PairedFile>(options_.folders, name, options_.pair));
      auto found = files_.back()->open();
      if (!found) found = files_.back()->check_all(0);
      if (found) return report(*files_.back(), *found);
    }
    for (std::uint64_t i = 0; i < options_.operations / options_.threads && !stop; ++i) {
      if (!step(i)) return false;
    }
    for (auto& file : files_) {
      auto found = file->check_all(0);
      if (!found) found = file->close();
      if (found) return report(*file, *found);
    }
    return true;
  }

 private:
  bool step(std::uint64_t count) {
    auto& file = *files_[operations_.draw(files_.size())];
    if (options_.folders.tested.size() > 1 && operations_.draw(kTurn) == 0) {
      if (const auto found = file.change_mount()) return report(file, *found);
    }
    const auto operation = operations_.next(file.size());
    constexpr std::size_t kKept = 60;
    if (last_.size() == kKept) last_.pop_front();
    last_.push_back(fmt::format("{} {}: {} (size {})", count, file.tested_path(), operation.text(),
                                file.size()));
    const auto found = operation.kind == OperationKind::rename ? rename(file, operation.seed)
                                                               : file.perform(operation);
    return !found || report(file, *found);
  }

  // Renames to another name and back, so that a second run finds the files; or over a third file.
  Finding rename(PairedFile& file, std::uint32_t seed) const {
    const auto name = file.name();
    const auto other = fmt::format("other-{}", name);
    if (seed % 2 == 0) {
      PairedFile target(options_.folders, other, options_.pair);
      if (auto found = target.open()) return found;
      const Operation write{.kind = OperationKind::write, .offset = 0, .size = 5000, .seed = seed};
      if (auto found = target.perform(write)) return found;
      if (auto found = target.close()) return found;
    }
    if (auto found = file.rename(other)) return found;
    if (auto found = file.check_all(seed)) return found;
    return file.rename(name);
  }

  bool report(const PairedFile& file, const std::string& text) const {
    static std::mutex mutex;
    const std::scoped_lock hold(mutex);
    for (const auto& line : last_) fmt::print(stderr, "{}\n", line);
    fmt::print(stderr, "{}: {}\n", file.tested_path(), text);
    return false;
  }

  const Options& options_;
  const std::uint64_t number_;
  OperationSource operations_;
  std::vector<std::unique_ptr<PairedFile>> files_;
  std::deque<std::string> last_;
};

bool parse_kinds(std::string_view text, bool only, OperationShares& shares) {
  std::set<OperationKind> kinds;
  while (!text.empty()) {
    const auto name = text.substr(0, text.find(','));
    const auto* const found = std::ranges::find_if(
        kOperationKinds, [&](OperationKind kind) { return operation_name(kind) == name; });
    if (found == std::end(kOperationKinds)) return false;
    kinds.insert(*found);
    text.remove_prefix(std::min(text.size(), name.size() + 1));
  }
  std::erase_if(shares, [&](const auto& share) { return kinds.contains(share.first) != only; });
  return !shares.empty();
}

std::optional<Options> parse_arguments(std::span<char* const> arguments) {
  Options options;
  std::vector<std::string> names;
  const std::map<std::string_view, std::uint64_t*> numbers = {
      {"--operations", &options.operations},
      {"--threads", &options.threads},
      {"--files", &options.files},
      {"--size", &options.size},
      {"--write", &options.write},
      {"--seed", &options.seed},
      {"--header", &options.pair.header_bytes}};
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string_view argument = arguments[i];
    if (!argument.starts_with("--")) {
      names.emplace_back(argument);
      continue;
    }
    if (++i == arguments.size()) return std::nullopt;
    const std::string_view value = arguments[i];
    if (argument == "--also") {
      options.folders.tested.emplace_back(value);
    } else if (argument == "--only" || argument == "--but") {
      if (!parse_kinds(value, argument == "--only", options.shares)) return std::nullopt;
    } else if (const auto number = numbers.find(argument); number != numbers.end()) {
      std::from_chars(value.data(), value.data() + value.size(), *number->second);
    } else {
      return std::nullopt;
    }
  }
  if (names.size() != 2 || options.threads == 0) return std::nullopt;
  options.folders.tested.insert(options.folders.tested.begin(), names[0]);
  options.folders.plain = names[1];
  return options;
}

// PairedFile itself tries some of the operations that arrays refuse.
void keep_for_arrays(OperationShares& shares) {
  const std::set<OperationKind> kinds = {OperationKind::write, OperationKind::mmap_write,
                                         OperationKind::sync,  OperationKind::reopen,
                                         OperationKind::read,  OperationKind::check};
  std::erase_if(shares, [&](const auto& share) { return !kinds.contains(share.first); });
}

bool run(const Options& options) {
  std::atomic<bool> good = true;
  std::atomic<bool> stop = false;
  std::vector<std::thread> threads;
  for (std::uint64_t i = 0; i < options.threads; ++i) {
    threads.emplace_back([&, i] {
      if (Thread(options, i).run(stop)) return;
      good = false;
      stop = true;
    });
  }
  for (auto& thread : threads) thread.join();
  return good;
}

}  // namespace
}  // namespace framefs::test

int main(int argc, char** argv) {
  using namespace framefs::test;
  auto options = parse_arguments(std::span(argv, static_cast<std::size_t>(argc)).subspan(1));
  if (!options) {
    std::cerr << "usage: framefs_model TESTED PLAIN [OPTION...]; its source says more\n";
    return 2;
  }
  if (options->pair.header_bytes > 0) keep_for_arrays(options->shares);
  fmt::print("seed {}\n", options->seed);
  if (!run(*options)) {
    fmt::print(stderr, "seed {}\n", options->seed);
    return 1;
  }
  return 0;
}
