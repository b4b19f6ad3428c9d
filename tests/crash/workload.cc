// Changes files at random and logs the state of each file, for framefs_crash_replay.
//
//   framefs_crash_workload FOLDER LOG [OPTION...]
//
// FOLDER is a mount or any other folder.  Files already in it are changed too, and count as synced.
//
//   --operations N   total                                  (2000)
//   --threads N      each has its own files                 (2)
//   --files N        per thread, at most                    (4)
//   --size N         bytes of a file, at most               (300000)
//   --write N        bytes of a write, at most              (60000)
//   --syncs N        share of fsync(2), in percent          (8)
//   --seed N
//   --loose          states between syncs are not logged: for kernels that cache written data
//   --direct         writes with O_DIRECT, which the kernel does not split, unlike other writes
//   --no-xattrs      no vl-metalayers
//   --fixed          sizes and names do not change: for arrays
//
// Exit code 3: the filesystem has gone.  Exit code 1: an operation failed although it has not.
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <atomic>
#include <charconv>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <memory>
#include <optional>
#include <string_view>
#include <thread>

#include <fmt/core.h>

#include "fs/core/file.h"
#include "tests/crash/frame_state.h"
#include "tests/crash/history.h"
#include "tests/crash/mark_log.h"
#include "tests/model/operation.h"
#include "tests/support/random_seed.h"

namespace framefs::test {
namespace {

namespace stdfs = std::filesystem;
using fs::UniqueFd;

constexpr int kExitGone = 3;
constexpr std::string_view kXattrPrefix = "user.framefs.vlmeta.";
constexpr std::uint64_t kNpyHeaderBytes = 128;  // in the arrays that tests create

struct Options {
  std::string folder;
  std::string log;
  std::uint64_t operations = 2000;
  std::uint64_t threads = 2;
  std::uint64_t files = 4;
  std::uint64_t size = 300000;
  std::uint64_t write = 60000;
  std::uint64_t syncs = 8;
  std::uint64_t seed = random_seed();
  bool loose = false;
  bool direct = false;
  bool xattrs = true;
  bool fixed = false;
};

OperationShares shares_of(const Options& options) {
  const auto sync = static_cast<unsigned>(options.syncs);
  if (options.fixed) {
    return {{OperationKind::write, 90}, {OperationKind::sync, sync}, {OperationKind::reopen, 10}};
  }
  OperationShares shares = {{OperationKind::write, 30},    {OperationKind::append, 15},
                            {OperationKind::truncate, 10}, {OperationKind::punch, 5},
                            {OperationKind::reopen, 10},   {OperationKind::sync, sync},
                            {OperationKind::rename, 5}};
  if (options.xattrs) shares.emplace_back(OperationKind::set_xattr, 5);
  return shares;
}

// A file, and its expected content.
struct File {
  std::uint64_t id = 0;
  std::string name;
  UniqueFd fd;
  Bytes content;
  std::map<std::string, Bytes> vlmetalayers;
};

// Changes the files of one thread.
class Worker {
 public:
  Worker(const Options& options, int folder, const MarkLog& log, std::uint64_t number)
      : options_(options),
        folder_(folder),
        log_(log),
        number_(number),
        next_id_(number),
        operations_(options.seed * 1000 + number, shares_of(options), options.size, options.write) {
  }

  // Takes over an existing file.
  bool adopt(const std::string& name) {
    File file{
        .id = take_id(), .name = name, .fd = open(name, O_RDWR), .content = {}, .vlmetalayers = {}};
    if (!file.fd || !read_all(file)) return failed("open", file);
    log_.file(file.id, name, hash_of(file));
    log_.synced(file.id);
    files_.push_back(std::move(file));
    return true;
  }

  bool run(const std::atomic<bool>& stop) {
    for (std::uint64_t i = 0; i < options_.operations / options_.threads && !stop; ++i) {
      if (!step()) return false;
    }
    return true;
  }

 private:
  std::uint64_t take_id() { return std::exchange(next_id_, next_id_ + options_.threads); }

  // A name that is unique even if runs with other seeds used the folder.
  [[nodiscard]] std::string new_name(std::uint64_t id) const {
    return fmt::format("file-{}-{}-{}", options_.seed, number_, id);
  }

  [[nodiscard]] UniqueFd open(const std::string& name, int flags) const {
    flags |= O_CLOEXEC | (options_.direct ? O_DIRECT : 0);
    return UniqueFd(::openat(folder_, name.c_str(), flags, 0644));
  }

  static bool failed(const char* what, const File& file) {
    fmt::print(stderr, "{} {}: {}\n", what, file.name,
               std::error_code(errno, std::generic_category()).message());
    return false;
  }

  static std::uint64_t hash_of(const File& file) {
    return state_hash(file.content, file.vlmetalayers);
  }

  void begin_state(const File& file) const {
    log_.state(file.id, options_.loose ? std::nullopt : std::optional(hash_of(file)));
  }

  bool read_all(File& file) const {
    const auto st = fs::stat_of(file.fd.get());
    if (!st) return false;
    file.content.resize(static_cast<std::size_t>(st->st_size));
    if (!fs::read_fully(file.fd.get(), 0, file.content)) return false;
    std::string names(65536, '\0');
    const auto size = ::flistxattr(file.fd.get(), names.data(), names.size());
    if (size < 0) return false;
    for (std::size_t at = 0; at < static_cast<std::size_t>(size);) {
      const std::string name(names.c_str() + at);
      at += name.size() + 1;
      if (!name.starts_with(kXattrPrefix)) continue;
      Bytes value(65536);
      const auto got = ::fgetxattr(file.fd.get(), name.c_str(), value.data(), value.size());
      if (got < 0) return false;
      value.resize(static_cast<std::size_t>(got));
      file.vlmetalayers[name.substr(kXattrPrefix.size())] = std::move(value);
    }
    return true;
  }

  bool step() {
    const bool wants_more = files_.size() < options_.files && operations_.draw(20) == 0;
    if (!options_.fixed && (files_.empty() || wants_more)) return create();
    if (files_.empty()) return true;
    auto& file = files_[operations_.draw(files_.size())];
    const auto operation = operations_.next(file.content.size());
    switch (operation.kind) {
      case OperationKind::write:
      case OperationKind::append:
        return write(file, operation);
      case OperationKind::truncate:
        return truncate(file, operation.offset);
      case OperationKind::punch:
        return punch(file, operation);
      case OperationKind::sync:
        return sync(file, operation.seed % 2 == 0);
      case OperationKind::reopen:
        return reopen(operation.seed);
      case OperationKind::rename:
        return operation.seed % 4 == 0 ? remove(file) : rename(file, operation.seed);
      case OperationKind::set_xattr:
        return set_xattr(file, operation);
      case OperationKind::zero:
      case OperationKind::allocate:
      case OperationKind::mmap_write:
      case OperationKind::write_direct:
      case OperationKind::read:
      case OperationKind::seek:
      case OperationKind::check:
        break;  // not in shares_of()
    }
    return true;
  }

  bool create() {
    const auto id = take_id();
    File file{.id = id, .name = new_name(id), .fd = {}, .content = {}, .vlmetalayers = {}};
    file.fd = open(file.name, O_RDWR | O_CREAT | O_EXCL);
    if (!file.fd) return failed("create", file);
    log_.file(file.id, file.name, hash_of(file));
    files_.push_back(std::move(file));
    return true;
  }

  bool write(File& file, Operation operation) {
    if (options_.fixed) {
      operation.offset = std::max(operation.offset, kNpyHeaderBytes);
      if (operation.offset >= file.content.size()) return true;
      operation.size = std::min(operation.size, file.content.size() - operation.offset);
    }
    Bytes data(operation.size);
    fill_data(data, operation.seed);
    file.content.resize(std::max(file.content.size(), operation.offset + data.size()));
    std::ranges::copy(data, file.content.begin() + static_cast<std::ptrdiff_t>(operation.offset));
    begin_state(file);
    const auto written =
        ::pwrite(file.fd.get(), data.data(), data.size(), static_cast<off_t>(operation.offset));
    return written == static_cast<ssize_t>(data.size()) || failed("write", file);
  }

  bool truncate(File& file, std::uint64_t size) {
    file.content.resize(size);
    begin_state(file);
    return ::ftruncate(file.fd.get(), static_cast<off_t>(size)) == 0 || failed("truncate", file);
  }

  bool punch(File& file, const Operation& operation) {
    const auto end =
        std::min<std::uint64_t>(file.content.size(), operation.offset + operation.size);
    for (auto at = operation.offset; at < end; ++at) file.content[at] = std::byte{0};
    begin_state(file);
    return ::fallocate(file.fd.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                       static_cast<off_t>(operation.offset),
                       static_cast<off_t>(operation.size)) == 0 ||
           failed("punch", file);
  }

  bool sync(File& file, bool with_metadata) {
    if ((with_metadata ? ::fsync(file.fd.get()) : ::fdatasync(file.fd.get())) != 0) {
      return failed("sync", file);
    }
    if (options_.loose) log_.state(file.id, hash_of(file));
    log_.synced(file.id);
    return true;
  }

  // Closes all files of the thread, then opens them again.
  bool reopen(std::uint32_t seed) {
    for (auto& file : files_) {
      if (::close(file.fd.release()) != 0) return failed("close", file);
    }
    for (auto& file : files_) {
      file.fd = open(file.name, O_RDWR);
      if (!file.fd) return failed("open", file);
      if (seed % 4 != 0) continue;
      File read{.id = file.id,
                .name = file.name,
                .fd = open(file.name, O_RDONLY),
                .content = {},
                .vlmetalayers = {}};
      if (!read.fd || !read_all(read)) return failed("read", file);
      if (hash_of(read) != hash_of(file)) return report_other_bytes(file, read);
    }
    return true;
  }

  static bool report_other_bytes(const File& expected, const File& found) {
    const auto [at, _] = std::ranges::mismatch(expected.content, found.content);
    fmt::print(stderr, "{} has other bytes: {} of {} expected, the first at {}; {}\n",
               expected.name, found.content.size(), expected.content.size(),
               at - expected.content.begin(),
               expected.vlmetalayers == found.vlmetalayers ? "the vl-metalayers are right"
                                                           : "other vl-metalayers");
    return false;
  }

  // Renames to a new name, or over another file of the thread.
  bool rename(File& file, std::uint32_t seed) {
    const bool replaces = seed % 2 == 0 && files_.size() > 1;
    const auto other = std::ranges::find_if(files_, [&](const File& f) { return f.id != file.id; });
    const auto name = replaces ? other->name : new_name(take_id());
    log_.names(file.id, {file.name, name});
    if (replaces) log_.names(other->id, {name, History::kNoName});
    if (::renameat(folder_, file.name.c_str(), folder_, name.c_str()) != 0) {
      return failed("rename", file);
    }
    log_.names(file.id, {name});
    if (replaces) log_.names(other->id, {History::kNoName});
    file.name = name;
    if (replaces) files_.erase(other);
    return true;
  }

  bool remove(File& file) {
    log_.names(file.id, {file.name, History::kNoName});
    if (::unlinkat(folder_, file.name.c_str(), 0) != 0) return failed("unlink", file);
    log_.names(file.id, {History::kNoName});
    std::erase_if(files_, [id = file.id](const File& f) { return f.id == id; });
    return true;
  }

  // An empty frame has little room for vl-metalayers.
  bool set_xattr(File& file, const Operation& operation) {
    if (file.content.empty()) return true;
    const auto layer = fmt::format("layer{}", operation.seed % 3);
    const auto name = std::string(kXattrPrefix) + layer;
    const bool removes = operation.seed % 4 == 0 && file.vlmetalayers.contains(layer);
    Bytes value(1 + operation.size % 3000);
    fill_data(value, operation.seed);
    if (removes) {
      file.vlmetalayers.erase(layer);
    } else {
      file.vlmetalayers[layer] = value;
    }
    begin_state(file);
    const int result =
        removes ? ::fremovexattr(file.fd.get(), name.c_str())
                : ::fsetxattr(file.fd.get(), name.c_str(), value.data(), value.size(), 0);
    return result == 0 || failed("setxattr", file);
  }

  const Options& options_;
  const int folder_;  // a path would lead below the mount once the mount has ended
  const MarkLog& log_;
  const std::uint64_t number_;
  std::uint64_t next_id_;
  OperationSource operations_;
  std::vector<File> files_;
};

std::optional<Options> parse_arguments(std::span<char* const> arguments) {
  Options options;
  std::vector<std::string> names;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string_view argument = arguments[i];
    const std::pair<std::string_view, std::uint64_t*> numbers[] = {
        {"--operations", &options.operations},
        {"--threads", &options.threads},
        {"--files", &options.files},
        {"--size", &options.size},
        {"--write", &options.write},
        {"--syncs", &options.syncs},
        {"--seed", &options.seed}};
    if (argument == "--loose") {
      options.loose = true;
    } else if (argument == "--direct") {
      options.direct = true;
    } else if (argument == "--no-xattrs") {
      options.xattrs = false;
    } else if (argument == "--fixed") {
      options.fixed = true;
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
  options.folder = names[0];
  options.log = names[1];
  return options;
}

int run(const Options& options) {
  const MarkLog log(options.log);
  const UniqueFd folder(::open(options.folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  std::vector<std::unique_ptr<Worker>> workers;
  for (std::uint64_t i = 0; i < options.threads; ++i) {
    workers.push_back(std::make_unique<Worker>(options, folder.get(), log, i));
  }
  std::atomic<bool> good = true;
  std::uint64_t next = 0;
  std::error_code error;
  for (stdfs::directory_iterator at(options.folder, error);
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
  struct statfs st{};
  if (!good && ::fstatfs(folder.get(), &st) != 0) return kExitGone;
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
