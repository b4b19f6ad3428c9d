#include "tests/crash/worker.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <string_view>
#include <system_error>
#include <utility>

#include <fmt/core.h>

#include "tests/crash/frame_state.h"
#include "tests/crash/history.h"
#include "tests/support/fast_hash.h"

namespace framefs::test {
namespace {

using fs::UniqueFd;

constexpr std::string_view kXattrPrefix = "user.framefs.vlmeta.";
constexpr std::uint64_t kNpyHeaderBytes = 128;  // in the arrays that tests create
constexpr std::uint64_t kStepsOfProgram = 8;    // on average

OperationShares shares_of(const WorkOptions& options) {
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

template <class File>
std::uint64_t hash_of(const File& file) {
  return state_hash(file.content, file.vlmetalayers);
}

}  // namespace

Worker::Worker(const WorkOptions& options, std::span<const UniqueFd> folders, const MarkLog& log,
               std::uint64_t number)
    : options_(options),
      folders_(folders),
      log_(log),
      number_(number),
      next_id_(number),
      operations_(options.seed * 1000 + number, shares_of(options), options.size, options.write) {
  if (options.beside) beside_.emplace(*options.beside);
}

Worker::File Worker::file_of(std::uint64_t id, const std::string& name) {
  return {.id = id, .name = name, .fds = {}, .content = {}, .vlmetalayers = {}};
}

bool Worker::failed(const char* what, const File& file) {
  fmt::print(stderr, "{} {}: {}\n", what, file.name,
             std::error_code(errno, std::generic_category()).message());
  return false;
}

std::string Worker::layers_text(const File& file) {
  std::string text;
  for (const auto& [name, value] : file.vlmetalayers) {
    text += fmt::format(" {} ({} bytes, {:016x})", name, value.size(), fast_hash(value));
  }
  return text.empty() ? " none" : text;
}

bool Worker::report_other_state(const File& expected, const File& found) {
  const auto [at, _] = std::ranges::mismatch(expected.content, found.content);
  fmt::print(stderr,
             "{} differs through mount {}: {} of {} bytes, the first other one at {}; "
             "vl-metalayers:{} expected,{} found\n",
             expected.name, expected.last, found.content.size(), expected.content.size(),
             at - expected.content.begin(), layers_text(expected), layers_text(found));
  return false;
}

bool Worker::adopt(const std::string& name) {
  auto file = file_of(take_id(), name);
  if (!open_all(file) || !read_all(file)) return failed("open", file);
  log_.file(file.id, name, hash_of(file));
  log_.synced(file.id);
  files_.push_back(std::move(file));
  return true;
}

bool Worker::run(const std::atomic<bool>& stop) {
  for (std::uint64_t i = 0; i < options_.operations / options_.threads && !stop; ++i) {
    if (!step()) return false;
  }
  if (beside_) beside_->wait();
  return true;
}

// A name that is unique even if runs with other seeds used the folder.
std::string Worker::new_name(std::uint64_t id) const {
  return fmt::format("file-{}-{}-{}", options_.seed, number_, id);
}

std::size_t Worker::draw_mount() {
  return folders_.size() == 1 ? 0 : operations_.draw(folders_.size());
}

int Worker::draw_writer(File& file) {
  file.last = draw_mount();
  return file.fds[file.last].get();
}

UniqueFd Worker::open(std::size_t mount, const std::string& name, int flags) const {
  flags |= O_CLOEXEC | (options_.direct ? O_DIRECT : 0);
  return UniqueFd(::openat(folders_[mount].get(), name.c_str(), flags, 0644));
}

bool Worker::open_all(File& file) const {
  file.fds.clear();
  for (std::size_t mount = 0; mount < folders_.size(); ++mount) {
    file.fds.push_back(open(mount, file.name, O_RDWR));
    if (!file.fds.back()) return false;
  }
  return true;
}

bool Worker::close_all(File& file) {
  return std::ranges::all_of(file.fds, [](UniqueFd& fd) { return ::close(fd.release()) == 0; });
}

bool Worker::read_all(File& file) {
  const int fd = file.fds.front().get();
  const auto st = fs::stat_of(fd);
  if (!st) return false;
  file.content.resize(static_cast<std::size_t>(st->st_size));
  if (!fs::read_fully(fd, 0, file.content)) return false;
  std::string names(65536, '\0');
  const auto size = ::flistxattr(fd, names.data(), names.size());
  if (size < 0) return false;
  for (std::size_t at = 0; at < static_cast<std::size_t>(size);) {
    const std::string name(names.c_str() + at);
    at += name.size() + 1;
    if (!name.starts_with(kXattrPrefix)) continue;
    Bytes value(65536);
    const auto got = ::fgetxattr(fd, name.c_str(), value.data(), value.size());
    if (got < 0) return false;
    value.resize(static_cast<std::size_t>(got));
    file.vlmetalayers[name.substr(kXattrPrefix.size())] = std::move(value);
  }
  return true;
}

void Worker::begin_state(const File& file) const {
  log_.state(file.id, options_.loose ? std::nullopt : std::optional(hash_of(file)));
}

bool Worker::step() {
  const bool wants_more = files_.size() < options_.files && operations_.draw(20) == 0;
  if (!options_.fixed && (files_.empty() || wants_more)) return create();
  if (files_.empty()) return true;
  auto& file = files_[operations_.draw(files_.size())];
  if (beside_ && operations_.draw(kStepsOfProgram) == 0) beside_->start(file.name);
  if (options_.replaces > 0 && operations_.draw(100) < options_.replaces) return replace();
  return change(file, operations_.next(file.content.size()));
}

bool Worker::change(File& file, const Operation& operation) {
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

bool Worker::create() {
  const auto id = take_id();
  auto file = file_of(id, new_name(id));
  file.last = draw_mount();
  const auto created = open(file.last, file.name, O_RDWR | O_CREAT | O_EXCL);
  if (!created || !open_all(file)) return failed("create", file);
  log_.file(file.id, file.name, hash_of(file));
  files_.push_back(std::move(file));
  return true;
}

// Replaces a file as programs do that save a document: they write a new file, close it and rename
// it over the old one.  Some sync it, some forget to close it.
bool Worker::replace() {
  const auto id = take_id();
  const auto mount = draw_mount();
  auto file = file_of(id, new_name(id));
  file.last = mount;
  auto fd = open(mount, file.name, O_RDWR | O_CREAT | O_EXCL);
  if (!fd) return failed("create", file);
  log_.file(file.id, file.name, hash_of(file));
  for (auto writes = operations_.draw(4); writes > 0; --writes) {
    const auto end = file.content.size();
    const Operation append{
        .kind = OperationKind::append,
        .offset = end,
        .size = std::min(1 + operations_.draw(options_.write), options_.size - end),
        .seed = static_cast<std::uint32_t>(operations_.draw(UINT32_MAX))};
    if (append.size > 0 && !write_at(file, fd.get(), append)) return false;
  }
  if (operations_.draw(4) == 0 && !sync_through(file, fd.get(), true)) return false;
  if (options_.loose || operations_.draw(4) != 0) {
    if (::close(fd.release()) != 0) return failed("close", file);
    if (options_.loose) log_.state(file.id, hash_of(file));
  }
  auto& other = files_[operations_.draw(files_.size())];
  if (!begin_rename(other)) return failed("close", other);
  if (!rename_over(file, other, mount)) return false;
  if (!open_all(file)) return failed("open", file);
  other = std::move(file);
  return true;
}

bool Worker::rename_over(File& file, File& other, std::size_t mount) {
  log_.leaves(file.id, file.name);
  log_.names(file.id, {file.name, other.name});
  log_.names(other.id, {other.name, History::kNoName});
  log_.replaces(file.id, other.id, other.name);
  const int folder = folders_[mount].get();
  if (::renameat(folder, file.name.c_str(), folder, other.name.c_str()) != 0) {
    return failed("rename", file);
  }
  log_.replaced(file.id);
  log_.names(file.id, {other.name});
  log_.names(other.id, {History::kNoName});
  file.name = other.name;
  return true;
}

bool Worker::write(File& file, Operation operation) {
  if (options_.fixed) {
    operation.offset = std::max(operation.offset, kNpyHeaderBytes);
    if (operation.offset >= file.content.size()) return true;
    operation.size = std::min(operation.size, file.content.size() - operation.offset);
  }
  return write_at(file, draw_writer(file), operation);
}

bool Worker::write_at(File& file, int fd, const Operation& operation) const {
  Bytes data(operation.size);
  fill_data(data, operation.seed);
  file.content.resize(std::max(file.content.size(), operation.offset + data.size()));
  std::ranges::copy(data, file.content.begin() + static_cast<std::ptrdiff_t>(operation.offset));
  begin_state(file);
  const auto written = ::pwrite(fd, data.data(), data.size(), static_cast<off_t>(operation.offset));
  return written == static_cast<ssize_t>(data.size()) || failed("write", file);
}

bool Worker::truncate(File& file, std::uint64_t size) {
  file.content.resize(size);
  begin_state(file);
  return ::ftruncate(draw_writer(file), static_cast<off_t>(size)) == 0 || failed("truncate", file);
}

bool Worker::punch(File& file, const Operation& operation) {
  const auto end = std::min<std::uint64_t>(file.content.size(), operation.offset + operation.size);
  for (auto at = operation.offset; at < end; ++at) file.content[at] = std::byte{0};
  begin_state(file);
  return ::fallocate(draw_writer(file), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                     static_cast<off_t>(operation.offset),
                     static_cast<off_t>(operation.size)) == 0 ||
         failed("punch", file);
}

bool Worker::sync(File& file, bool with_metadata) {
  const auto mount = draw_mount();
  const int fd = file.fds[mount].get();
  if (mount == file.last) return sync_through(file, fd, with_metadata);
  // Another mount does not know of the last change, and its sync promises nothing.
  return (with_metadata ? ::fsync(fd) : ::fdatasync(fd)) == 0 || failed("sync", file);
}

bool Worker::sync_through(const File& file, int fd, bool with_metadata) const {
  if ((with_metadata ? ::fsync(fd) : ::fdatasync(fd)) != 0) return failed("sync", file);
  if (options_.loose) log_.state(file.id, hash_of(file));
  log_.synced(file.id);
  return true;
}

// Closes all files of the thread, then opens them again.
bool Worker::reopen(std::uint32_t seed) {
  for (auto& file : files_) {
    if (!close_all(file)) return failed("close", file);
  }
  for (auto& file : files_) {
    if (!open_all(file)) return failed("open", file);
    if (seed % 4 != 0) continue;
    auto read = file_of(file.id, file.name);
    read.fds.push_back(open(file.last, file.name, O_RDONLY));
    if (!read.fds.front() || !read_all(read)) return failed("read", file);
    if (hash_of(read) != hash_of(file)) return report_other_state(file, read);
  }
  return true;
}

// Renames to a new name, or over another file of the thread.
bool Worker::rename(File& file, std::uint32_t seed) {
  if (!begin_rename(file)) return failed("close", file);
  if (seed % 2 == 0 && files_.size() > 1) {
    const auto other = std::ranges::find_if(files_, [&](const File& f) { return f.id != file.id; });
    if (!begin_rename(*other)) return failed("close", *other);
    // The mount of the last change makes that change durable.
    if (!rename_over(file, *other, file.last)) return false;
    if (!end_rename(file)) return failed("open", file);
    files_.erase(other);
    return true;
  }
  const auto name = new_name(take_id());
  log_.leaves(file.id, file.name);
  log_.names(file.id, {file.name, name});
  const int folder = folders_[draw_mount()].get();
  if (::renameat(folder, file.name.c_str(), folder, name.c_str()) != 0) {
    return failed("rename", file);
  }
  log_.names(file.id, {name});
  file.name = name;
  return end_rename(file) || failed("open", file);
}

bool Worker::remove(File& file) {
  if (!begin_rename(file)) return failed("close", file);
  log_.leaves(file.id, file.name);
  log_.names(file.id, {file.name, History::kNoName});
  if (::unlinkat(folders_[draw_mount()].get(), file.name.c_str(), 0) != 0) {
    return failed("unlink", file);
  }
  log_.names(file.id, {History::kNoName});
  std::erase_if(files_, [id = file.id](const File& f) { return f.id == id; });
  return true;
}

// An empty frame has little room for vl-metalayers.
bool Worker::set_xattr(File& file, const Operation& operation) {
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
  // Only the mount of the last change is sure to know a new vl-metalayer, so it alone removes any.
  const int fd = removes ? file.fds[file.last].get() : draw_writer(file);
  const int result = removes ? ::fremovexattr(fd, name.c_str())
                             : ::fsetxattr(fd, name.c_str(), value.data(), value.size(), 0);
  return result == 0 || failed("setxattr", file);
}

}  // namespace framefs::test
