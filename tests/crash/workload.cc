// Changes files at random and logs the state of each file, for framefs_crash_replay.
//
//   framefs_crash_workload FOLDER LOG [OPTION...]
//
// FOLDER is a mount or any other folder.  Files already in it are changed too, and count as synced.
//
//   --also FOLDER    another mount of the same SOURCE: each operation uses one of the mounts
//   --beside PROGRAM   runs again and again with the name of a file, beside the operations; it may
//                      fail
//   --operations N   total                                  (2000)
//   --threads N      each has its own files                 (2)
//   --files N        per thread, at most                    (4)
//   --size N         bytes of a file, at most               (300000)
//   --write N        bytes of a write, at most              (60000)
//   --syncs N        share of fsync(2), in percent          (8)
//   --replaces N     share of new files that are written and renamed over others, in percent  (0)
//   --seed N
//   --loose          states between syncs are not logged: for kernels that cache written data
//   --direct         writes with O_DIRECT, which the kernel does not split, unlike other writes
//   --no-xattrs      no vl-metalayers
//   --fixed          sizes and names do not change: for arrays
//
// Exit code 3: the filesystem has gone.  Exit code 1: an operation failed although it has not.
#include <fcntl.h>
#include <sys/statfs.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <filesystem>
#include <iostream>
#include <memory>
#include <numeric>
#include <optional>
#include <string_view>
#include <thread>

#include <fmt/core.h>

#include "tests/crash/worker.h"

namespace framefs::test {
namespace {

namespace stdfs = std::filesystem;
using fs::UniqueFd;

constexpr int kExitGone = 3;

std::optional<WorkOptions> parse_arguments(std::span<char* const> arguments) {
  WorkOptions options;
  std::vector<std::string> names;
  std::vector<std::string> also;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string_view argument = arguments[i];
    const std::pair<std::string_view, std::uint64_t*> numbers[] = {
        {"--operations", &options.operations}, {"--threads", &options.threads},
        {"--files", &options.files},           {"--size", &options.size},
        {"--write", &options.write},           {"--syncs", &options.syncs},
        {"--replaces", &options.replaces},     {"--seed", &options.seed}};
    if (argument == "--loose") {
      options.loose = true;
    } else if (argument == "--direct") {
      options.direct = true;
    } else if (argument == "--no-xattrs") {
      options.xattrs = false;
    } else if (argument == "--fixed") {
      options.fixed = true;
    } else if (argument == "--beside" && i + 1 < arguments.size()) {
      options.beside = arguments[++i];
    } else if (argument == "--also" && i + 1 < arguments.size()) {
      also.emplace_back(arguments[++i]);
    } else if (!argument.starts_with("--")) {
      names.emplace_back(argument);
    } else {
      const auto* const found = std::ranges::find_if(
          numbers, [&](const auto& number) { return number.first == argument; });
      if (found == std::end(numbers) || ++i == arguments.size()) return std::nullopt;
      const std::string_view value = arguments[i];
      std::from_chars(value.data(), value.data() + value.size(), *found->second);
    }
  }
  if (names.size() != 2 || options.threads == 0) return std::nullopt;
  options.folders = std::move(also);
  options.folders.insert(options.folders.begin(), names[0]);
  options.log = names[1];
  return options;
}

int run(const WorkOptions& options) {
  const MarkLog log(options.log);
  std::vector<UniqueFd> folders;
  for (const auto& folder : options.folders) {
    folders.emplace_back(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  }
  std::vector<std::unique_ptr<Worker>> workers;
  for (std::uint64_t i = 0; i < options.threads; ++i) {
    workers.push_back(std::make_unique<Worker>(options, folders, log, i));
  }
  std::atomic<bool> good = true;
  std::uint64_t next = 0;
  std::error_code error;
  for (stdfs::directory_iterator at(options.folders.front(), error);
       !error && at != stdfs::directory_iterator(); at.increment(error)) {
    if (!at->is_regular_file(error)) continue;
    good = good && workers[next++ % workers.size()]->adopt(at->path().filename());
  }
  good = good && !error;
  std::atomic<bool> stop = !good;
  std::vector<std::thread> threads;
  for (const auto& worker : workers) {
    threads.emplace_back([&] {
      if (worker->run(stop)) return;
      good = false;
      stop = true;
    });
  }
  for (auto& thread : threads) thread.join();
  if (options.beside) {
    const auto sum = [&](auto count) {
      return std::accumulate(
          workers.begin(), workers.end(), std::uint64_t{0},
          [&](auto all, const auto& worker) { return all + ((*worker->beside()).*count)(); });
    };
    fmt::print("{} of {} programs succeeded\n", sum(&ProgramBeside::succeeded),
               sum(&ProgramBeside::started));
  }
  struct statfs st{};
  const bool is_gone = std::ranges::any_of(
      folders, [&](const UniqueFd& folder) { return ::fstatfs(folder.get(), &st) != 0; });
  if (!good && is_gone) return kExitGone;
  return good ? 0 : 1;
}

}  // namespace
}  // namespace framefs::test

int main(int argc, char** argv) {
  using namespace framefs::test;
  const auto options = parse_arguments(std::span(argv, static_cast<std::size_t>(argc)).subspan(1));
  if (!options) {
    std::cerr << "usage: framefs_crash_workload FOLDER LOG [OPTION...]; its source says more\n";
    return 2;
  }
  fmt::print("seed {}\n", options->seed);
  return run(*options);
}
