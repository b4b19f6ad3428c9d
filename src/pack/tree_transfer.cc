#include "src/pack/tree_transfer.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "fs/source/sparse_frame.h"
#include "fs/source/suffixes.h"
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
  FRAMEFS_TRY(auto directory, entry.place.open_directory());
  const fs::Place index(std::move(directory), fs::kSparseIndexName, entry.path());
  FRAMEFS_TRY(const auto st, index.stat());
  return st.st_mtim;
}

// A result with the time of its original is complete: it gets the time before its name.
bool is_up_to_date(const fs::Place& target, const timespec& time) {
  const auto st = target.stat();
  if (!st || (!S_ISREG(st->st_mode) && !S_ISDIR(st->st_mode))) return false;
  return st->st_mtim.tv_sec == time.tv_sec && st->st_mtim.tv_nsec == time.tv_nsec;
}

Status copy_file(const fs::Place& from, const struct stat& st, const fs::Place& to,
                 bool may_replace) {
  FRAMEFS_TRY(auto input, PackInput::open_file(from, {}));
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
  FRAMEFS_CHECK(carry_attributes(input.fd(), st, file.sink().fd()));
  return file.publish(st);
}

// The places of an open directory.
class PlacesIn {
 public:
  static Result<PlacesIn> open(const fs::Place& place) {
    FRAMEFS_TRY(auto directory, place.open_directory());
    FRAMEFS_TRY(auto names, names_in(directory->get()));
    return PlacesIn(std::move(directory), std::move(names), place.path());
  }
  [[nodiscard]] const std::vector<std::string>& names() const noexcept { return names_; }
  [[nodiscard]] fs::Place at(const std::string& name) const {
    return {directory_, name, path_ + "/" + name};
  }
  [[nodiscard]] int fd() const noexcept { return directory_->get(); }

 private:
  PlacesIn(fs::Place::Directory directory, std::vector<std::string> names, std::string path)
      : directory_(std::move(directory)), names_(std::move(names)), path_(std::move(path)) {}
  fs::Place::Directory directory_;
  std::vector<std::string> names_;
  std::string path_;
};

// Returns whether each file of `copy` is a file of `from` in its present state, so that an
// interrupted run may have made `copy`.
bool is_begun_copy(const PlacesIn& copy, const PlacesIn& from) {
  return std::ranges::all_of(copy.names(), [&](const std::string& name) {
    const auto original = from.at(name).stat();
    return is_unfinished(name) || (original && is_up_to_date(copy.at(name), original->st_mtim));
  });
}

// Copies the directory of a sparse frame, or completes such a copy.  Returns false if the copy was
// complete.
Result<bool> copy_flat_directory(const TreeEntry& entry, const fs::Place& target,
                                 bool may_replace) {
  FRAMEFS_TRY(const auto from, PlacesIn::open(entry.place));
  FRAMEFS_TRY(bool is_new, codec::of_target(target.make_directory()));
  FRAMEFS_TRY(const auto to, codec::of_target(PlacesIn::open(target)));
  if (!is_new && !may_replace && !is_begun_copy(to, from)) {
    return codec::of_target(fs::system_error_of(EEXIST, "mkdir"));
  }
  for (const auto& name : from.names()) {
    if (fs::is_hidden(name)) continue;
    FRAMEFS_TRY(const auto st, from.at(name).stat());
    if (!S_ISREG(st.st_mode)) continue;
    if (!may_replace && is_up_to_date(to.at(name), st.st_mtim)) continue;
    FRAMEFS_CHECK(copy_file(from.at(name), st, to.at(name), may_replace));
    is_new = true;
  }
  FRAMEFS_CHECK(carry_attributes(from.fd(), entry.stat, to.fd()));
  return is_new;
}

// The target of a symbolic link.
Result<std::string> read_link(const fs::Place& place) {
  std::string text(PATH_MAX, '\0');
  const auto size = ::readlinkat(place.directory(), place.name().c_str(), text.data(), text.size());
  if (size < 0) return fs::system_error("readlink");
  text.resize(static_cast<std::size_t>(size));
  return text;
}

}  // namespace

TreeTransfer::TreeTransfer(const TransferOptions& options, TreeConverter converter,
                           MadeOutputs& made, Fail fail, Stop stop)
    : options_(options),
      converter_(std::move(converter)),
      made_(made),
      report_(std::move(fail)),
      stop_(std::move(stop)) {}

void TreeTransfer::run(const fs::Tree& top, const fs::Tree* out) {
  top_ = &top;
  out_ = out;
  directory_.reset();
  results_.clear();
  const auto leave = [this](const std::string& relative, const struct stat& st) {
    const auto finished = out_ != nullptr ? finish_directory(relative, st) : Status{};
    if (!finished) fail(out_->path_of(relative), finished.error());
  };
  TreeWalk walk(
      options_.filter, [this](const TreeEntry& entry) { return visit(entry); }, leave,
      [this](const std::string& path, const codec::Error& error) { fail(path, error); });
  walk.walk(top);
}

TreeWalk::Next TreeTransfer::visit(const TreeEntry& entry) {
  const auto done = transfer(entry);
  if (stop_()) return TreeWalk::Next::end;
  if (done) return TreeWalk::Next::entry;
  fail(done.error().is_of_target ? target_ : entry.path(), done.error());
  // Without a directory, nothing in it has a place.
  return options_.keeps_going ? TreeWalk::Next::skip : TreeWalk::Next::end;
}

Status TreeTransfer::transfer(const TreeEntry& entry) {
  const auto mode = entry.stat.st_mode;
  const bool has_out = out_ != nullptr;
  if (S_ISDIR(mode) && !entry.is_sparse_frame) return has_out ? make_directory(entry) : Status{};
  if (!options_.filter.takes(entry.relative)) return {};
  if (fs::is_hidden(entry.place.name())) return {};
  if (is_unfinished(entry.place.name())) {
    ++count_.unfinished;
    return {};
  }
  if (S_ISLNK(mode)) return has_out ? make_symlink(entry) : Status{};
  if (S_ISREG(mode) || entry.is_sparse_frame) return transfer_file(entry);
  ++count_.left_out;
  return {};
}

Result<fs::Place> TreeTransfer::target_of(const TreeEntry& entry, const std::string& name) {
  if (out_ == nullptr) {
    auto place = entry.place.beside(name);
    target_ = place.path();
    return place;
  }
  const auto slash = entry.relative.rfind('/');
  const auto parent = slash == std::string::npos ? "" : entry.relative.substr(0, slash);
  target_ = out_->path_of(parent.empty() ? name : parent + "/" + name);
  if (!directory_ || parent != directory_path_) {
    FRAMEFS_TRY(directory_, codec::of_target(out_->open_directory(parent)));
    directory_path_ = parent;
  }
  return fs::Place(directory_, name, target_);
}

Status TreeTransfer::make_directory(const TreeEntry& entry) {
  FRAMEFS_TRY(const auto target, target_of(entry, entry.place.name()));
  FRAMEFS_CHECK(made_.check(target, Output::directory));
  FRAMEFS_CHECK(codec::of_target(target.make_directory()));
  made_.add(target, Output::directory);
  return {};
}

Status TreeTransfer::make_symlink(const TreeEntry& entry) {
  FRAMEFS_TRY(const auto leads_to, read_link(entry.place));
  FRAMEFS_TRY(const auto target, target_of(entry, entry.place.name()));
  FRAMEFS_CHECK(made_.check(target, Output::result));
  if (::symlinkat(leads_to.c_str(), target.directory(), target.name().c_str()) != 0) {
    const int cause = errno;
    const bool is_same = cause == EEXIST && read_link(target) == leads_to;
    if (cause == EEXIST && !is_same) {
      return codec::of_target(
          fs::refusal(cause, "is there, and a symbolic link never replaces it"));
    }
    if (!is_same) return codec::of_target(fs::system_error_of(cause, "symlink"));
    made_.add(target, Output::result);
    ++count_.up_to_date;
    return {};
  }
  made_.add(target, Output::result);
  ++count_.copied;
  FRAMEFS_TRY(const auto from, entry.place.open(O_PATH));
  FRAMEFS_TRY(const auto to, codec::of_target(target.open(O_PATH)));
  FRAMEFS_TRY(const auto made, fs::stat_of(to.get()));
  if (!S_ISLNK(made.st_mode)) {
    return codec::of_target(fs::refusal(ESTALE, "was replaced as soon as it was made"));
  }
  return carry_attributes(from.get(), entry.stat, to.get());
}

Status TreeTransfer::transfer_file(const TreeEntry& entry) {
  FRAMEFS_TRY(const auto converted, converter_.name(entry));
  if (!converted && out_ == nullptr) return {};
  const auto& name = converted ? converted->name : entry.place.name();
  FRAMEFS_TRY(const auto target, target_of(entry, name));
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
    const auto parent = entry.relative.substr(0, entry.relative.rfind('/') + 1);
    results_.try_emplace(key, parent + name);
  }
  return converted && converter_.finish ? converter_.finish(entry, target, is_new) : Status{};
}

Result<bool> TreeTransfer::convert(const TreeEntry& entry, const fs::Place& target) {
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

Result<bool> TreeTransfer::copy(const TreeEntry& entry, const fs::Place& target) {
  const auto may_replace = options_.may_replace;
  bool is_new = true;
  if (entry.is_sparse_frame) {
    FRAMEFS_TRY(is_new, copy_flat_directory(entry, target, may_replace));
  } else if (!may_replace && is_up_to_date(target, entry.stat.st_mtim)) {
    is_new = false;
  } else {
    FRAMEFS_CHECK(copy_file(entry.place, entry.stat, target, may_replace));
  }
  ++(is_new ? count_.copied : count_.up_to_date);
  return is_new;
}

// Links `target` to the result that another name of the same file has in the same way, if there is
// one.  With the right to replace, that result is a new file, so that a link of an earlier run has
// to follow it.
Result<bool> TreeTransfer::make_link(const TransferKey& key, const fs::Place& target) {
  const auto found = results_.find(key);
  if (found == results_.end()) return false;
  const auto& results = out_ != nullptr ? *out_ : *top_;
  FRAMEFS_TRY(const auto first, codec::of_target(results.place(found->second)));
  if (::linkat(first.directory(), first.name().c_str(), target.directory(), target.name().c_str(),
               0) == 0) {
    ++count_.copied;
    return true;
  }
  if (errno != EEXIST) return codec::of_target(fs::system_error("link"));
  if (fs::is_same_object(first, target)) {
    ++count_.up_to_date;
    return true;
  }
  FRAMEFS_CHECK(made_.check(target, Output::result));
  FRAMEFS_TRY(auto file, ReplacementFile::create(target, options_.may_replace));
  file.replaces_frame(options_.locking);
  FRAMEFS_CHECK(file.publish_link(first));
  ++count_.copied;
  return true;
}

// Runs after everything in the directory, because every new entry changes its time.
Status TreeTransfer::finish_directory(const std::string& relative, const struct stat& stat) {
  FRAMEFS_TRY(const auto from, top_->open_directory(relative));
  FRAMEFS_TRY(const auto to, out_->open_directory(relative));
  return carry_attributes(from->get(), stat, to->get());
}

void TreeTransfer::fail(const std::string& path, const codec::Error& error) {
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
  // A relative path stays relative if its first name does not exist yet.
  const auto inner = stdfs::weakly_canonical(stdfs::absolute(path, error), error);
  const auto outer = stdfs::canonical(tree, error);
  if (error) return false;
  return std::ranges::mismatch(outer, inner).in1 == outer.end();
}

}  // namespace framefs
