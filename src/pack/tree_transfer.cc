#include "src/pack/tree_transfer.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <ranges>
#include <system_error>

#include <fmt/core.h>

#include "fs/source/sparse_frame.h"
#include "src/cli/size_text.h"
#include "src/pack/carried_attributes.h"
#include "src/pack/pack_input.h"
#include "src/pack/replacement_file.h"

namespace framefs {
namespace {

namespace stdfs = std::filesystem;
using codec::Result;
using codec::Status;

constexpr std::size_t kCopyBytes = 1u << 20;

// Returns the time of the bytes of an entry: for a sparse frame that of its index, as in a mount.
Result<timespec> content_time(const TreeEntry& entry) {
  if (!entry.is_sparse_frame) return entry.stat.st_mtim;
  struct stat st{};
  if (::lstat((entry.path / fs::kSparseIndexName).c_str(), &st) != 0) {
    return fs::system_error("stat");
  }
  return st.st_mtim;
}

// A result with the time of its original is complete: it gets the time before its name.
bool is_up_to_date(const stdfs::path& target, const timespec& time) {
  struct stat st{};
  if (::lstat(target.c_str(), &st) != 0 || (!S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode))) {
    return false;
  }
  return st.st_mtim.tv_sec == time.tv_sec && st.st_mtim.tv_nsec == time.tv_nsec;
}

Status copy_file(const stdfs::path& from, const struct stat& st, const stdfs::path& to,
                 bool may_replace) {
  FRAMEFS_TRY(auto input, PackInput::open(from, {}));
  FRAMEFS_TRY(auto file, ReplacementFile::create(to, may_replace));
  std::vector<std::byte> buffer(kCopyBytes);
  std::uint64_t at = 0;
  for (;;) {
    FRAMEFS_TRY(const auto piece, input.next(buffer));
    if (piece.size == 0) break;
    if (!piece.is_hole) {
      FRAMEFS_CHECK(file.sink().write_at(at, std::span(buffer).first(piece.size)));
    }
    at += piece.size;
  }
  FRAMEFS_CHECK(input.check_unchanged());
  FRAMEFS_CHECK(file.sink().truncate(at));
  FRAMEFS_CHECK(carry_attributes(from, st, file.sink().fd()));
  return file.publish(st);
}

// Returns whether each file of `copy` is a file of `from` in its present state, so that an
// interrupted run may have made `copy`.
Result<bool> is_begun_copy(const stdfs::path& copy, const stdfs::path& from) {
  struct stat st{};
  if (::lstat(copy.c_str(), &st) != 0 || !S_ISDIR(st.st_mode)) return false;
  std::error_code error;
  for (const auto& entry : stdfs::directory_iterator(copy, error)) {
    if (is_unfinished(entry.path())) continue;
    const auto name = entry.path().filename();
    if (::lstat((from / name).c_str(), &st) != 0) return false;
    if (!is_up_to_date(entry.path(), st.st_mtim)) return false;
  }
  if (error) return codec::of_target(fs::system_error_of(error.value(), "readdir"));
  return true;
}

// Copies the directory of a sparse frame, or completes such a copy.  Returns false if the copy was
// complete.
Result<bool> copy_flat_directory(const stdfs::path& from, const struct stat& st,
                                 const stdfs::path& to, bool may_replace) {
  bool is_new = ::mkdir(to.c_str(), 0777) == 0;
  if (!is_new && errno != EEXIST) return codec::of_target(fs::system_error("mkdir"));
  if (!is_new && !may_replace) {
    FRAMEFS_TRY(const bool is_begun, is_begun_copy(to, from));
    if (!is_begun) return codec::of_target(fs::system_error_of(EEXIST, "mkdir"));
  }
  std::error_code error;
  for (const auto& entry : stdfs::directory_iterator(from, error)) {
    struct stat of_file{};
    if (::lstat(entry.path().c_str(), &of_file) != 0) return fs::system_error("stat");
    if (!S_ISREG(of_file.st_mode)) continue;
    const auto file = to / entry.path().filename();
    if (!may_replace && is_up_to_date(file, of_file.st_mtim)) continue;
    FRAMEFS_CHECK(copy_file(entry.path(), of_file, file, may_replace));
    is_new = true;
  }
  if (error) return fs::system_error_of(error.value(), "readdir");
  FRAMEFS_CHECK(carry_attributes(from, st, to));
  return is_new;
}

}  // namespace

TreeTransfer::TreeTransfer(const TransferOptions& options, TreeConverter converter,
                           MadeOutputs& made, Fail fail, Stop stop)
    : options_(options),
      converter_(std::move(converter)),
      made_(made),
      report_(std::move(fail)),
      stop_(std::move(stop)) {}

void TreeTransfer::run(const stdfs::path& top, const std::optional<stdfs::path>& out) {
  out_ = out;
  directories_.clear();
  struct stat st{};
  if (::stat(top.c_str(), &st) != 0) {
    fail(top, fs::system_error("stat").error());
    return;
  }
  if (out_) {
    if (const auto made = make_directory({.path = top, .relative = {}, .stat = st}); !made) {
      fail(*out_, made.error());
      return;
    }
  }
  TreeWalk walk(
      options_.filter, [this](const TreeEntry& entry) { return visit(entry); },
      [this](const stdfs::path& path, const codec::Error& error) { fail(path, error); });
  walk.walk(top);
  if (!stop_()) finish_directories();
}

bool TreeTransfer::visit(const TreeEntry& entry) {
  const auto done = transfer(entry);
  if (stop_()) return false;
  if (!done) fail(done.error().is_of_target ? target_ : entry.path, done.error());
  return done || options_.keeps_going;
}

Status TreeTransfer::transfer(const TreeEntry& entry) {
  const auto mode = entry.stat.st_mode;
  if (S_ISDIR(mode) && !entry.is_sparse_frame) return out_ ? make_directory(entry) : Status{};
  if (!options_.filter.takes(entry.relative)) return {};
  if (is_unfinished(entry.path)) {
    ++count_.unfinished;
    return {};
  }
  if (S_ISLNK(mode)) return out_ ? make_symlink(entry) : Status{};
  if (S_ISREG(mode) || entry.is_sparse_frame) return transfer_file(entry);
  ++count_.left_out;
  return {};
}

stdfs::path TreeTransfer::directory_of(const TreeEntry& entry) const {
  return out_ ? *out_ / entry.relative.parent_path() : entry.path.parent_path();
}

Status TreeTransfer::make_directory(const TreeEntry& entry) {
  assert(out_.has_value());
  const auto& target = target_ = entry.relative.empty() ? *out_ : *out_ / entry.relative;
  FRAMEFS_CHECK(made_.check(target, Output::directory));
  if (::mkdir(target.c_str(), 0777) != 0) {
    if (errno != EEXIST) return codec::of_target(fs::system_error("mkdir"));
    if (target_kind_of(target) != TargetKind::directory) {
      return codec::of_target(fs::refusal(ENOTDIR, "is not a directory"));
    }
  }
  made_.add(target, Output::directory);
  directories_.push_back({entry, target});
  return {};
}

Status TreeTransfer::make_symlink(const TreeEntry& entry) {
  assert(out_.has_value());
  std::error_code error;
  const auto leads_to = stdfs::read_symlink(entry.path, error);
  if (error) return fs::system_error_of(error.value(), "readlink");
  const auto& target = target_ = *out_ / entry.relative;
  if (::symlink(leads_to.c_str(), target.c_str()) != 0) {
    const int cause = errno;
    const bool is_same =
        cause == EEXIST && stdfs::read_symlink(target, error) == leads_to && !error;
    if (cause == EEXIST && !is_same) {
      return codec::of_target(
          fs::refusal(cause, "is there, and a symbolic link never replaces it"));
    }
    if (!is_same) return codec::of_target(fs::system_error_of(cause, "symlink"));
    ++count_.up_to_date;
    return {};
  }
  ++count_.copied;
  return carry_attributes(entry.path, entry.stat, target);
}

Status TreeTransfer::transfer_file(const TreeEntry& entry) {
  FRAMEFS_TRY(const auto converted, converter_.name(entry));
  if (!converted && !out_) return {};
  const auto& target = target_ =
      directory_of(entry) / (converted ? stdfs::path(converted->name) : entry.path.filename());
  const TransferKey key(entry.stat.st_dev, entry.stat.st_ino, converted ? converted->way : "");
  FRAMEFS_TRY(const bool is_link, make_link(key, target));
  // Such a target could look up to date, too.
  if (!is_link) FRAMEFS_CHECK(made_.check(target, Output::result));
  bool is_new = is_link;
  if (!is_link && !converted) {
    FRAMEFS_TRY(is_new, copy(entry, target));
  } else if (!is_link) {
    FRAMEFS_TRY(is_new, convert(entry, target));
  }
  made_.add(target, Output::result);
  if (entry.stat.st_nlink > 1 && S_ISREG(entry.stat.st_mode)) {
    results_.try_emplace(key, target);
  }
  return converted && converter_.finish ? converter_.finish(entry, target, is_new) : Status{};
}

Result<bool> TreeTransfer::convert(const TreeEntry& entry, const stdfs::path& target) {
  FRAMEFS_TRY(const auto time, content_time(entry));
  if (!options_.may_replace && is_up_to_date(target, time)) {
    ++count_.up_to_date;
    return false;
  }
  FRAMEFS_TRY(const auto bytes, converter_.make(entry, target));
  ++count_.converted;
  count_.bytes.before += bytes.before;
  count_.bytes.after += bytes.after;
  return true;
}

Result<bool> TreeTransfer::copy(const TreeEntry& entry, const stdfs::path& target) {
  const auto may_replace = options_.may_replace;
  bool is_new = true;
  if (entry.is_sparse_frame) {
    FRAMEFS_TRY(is_new, copy_flat_directory(entry.path, entry.stat, target, may_replace));
  } else if (!may_replace && is_up_to_date(target, entry.stat.st_mtim)) {
    is_new = false;
  } else {
    FRAMEFS_CHECK(copy_file(entry.path, entry.stat, target, may_replace));
  }
  ++(is_new ? count_.copied : count_.up_to_date);
  return is_new;
}

// Links `target` to the result that another name of the same file has in the same way, if there is
// one.  With the right to replace, that result is a new file, so that a link of an earlier run has
// to follow it.
Result<bool> TreeTransfer::make_link(const TransferKey& key, const stdfs::path& target) {
  const auto first = results_.find(key);
  if (first == results_.end()) return false;
  if (::link(first->second.c_str(), target.c_str()) == 0) {
    ++count_.copied;
    return true;
  }
  if (errno != EEXIST) return codec::of_target(fs::system_error("link"));
  std::error_code none;
  if (stdfs::equivalent(first->second, target, none)) {
    ++count_.up_to_date;
    return true;
  }
  FRAMEFS_CHECK(made_.check(target, Output::result));
  FRAMEFS_TRY(auto file, ReplacementFile::create(target, options_.may_replace));
  file.replaces_frame(options_.locking);
  FRAMEFS_CHECK(file.publish_link(first->second));
  ++count_.copied;
  return true;
}

// Runs last, because every new entry changes the time of its directory; innermost directories
// first.
void TreeTransfer::finish_directories() {
  for (const auto& [entry, target] : std::views::reverse(directories_)) {
    const auto carried = carry_attributes(entry.path, entry.stat, target);
    if (!carried) fail(target, carried.error());
  }
}

void TreeTransfer::fail(const stdfs::path& path, const codec::Error& error) {
  ++count_.failed;
  report_(path, error);
}

std::string transfer_text(const TransferCount& count, const std::string& verb) {
  auto text = fmt::format("{} file{} {}", count.converted, count.converted == 1 ? "" : "s", verb);
  const auto [before, after] = count.bytes;
  if (count.converted > 0) {
    text += fmt::format(", {} to {}", size_for_people(before), size_for_people(after));
  }
  if (after > 0 && before > after) {
    text += fmt::format(" ({:.2f} times smaller)",
                        static_cast<double>(before) / static_cast<double>(after));
  }
  const auto add = [&text](std::uint64_t number, const char* what) {
    if (number > 0) text += fmt::format("; {} {}", number, what);
  };
  add(count.copied, "copied or linked");
  add(count.up_to_date, "up to date");
  add(count.left_out, "left out: devices, FIFOs or sockets");
  add(count.unfinished, "left out: unfinished files of killed runs");
  add(count.failed, "FAILED");
  return text;
}

bool lies_in_tree(const stdfs::path& path, const stdfs::path& tree) {
  std::error_code error;
  const auto inner = stdfs::weakly_canonical(path, error);
  const auto outer = stdfs::canonical(tree, error);
  if (error) return false;
  return std::ranges::mismatch(outer, inner).in1 == outer.end();
}

}  // namespace framefs
