#include "src/cli/tree_walk.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <utility>

#include "fs/source/path_glob.h"
#include "fs/source/sparse_frame.h"
#include "fs/source/suffixes.h"

namespace framefs {
namespace {

namespace stdfs = std::filesystem;

struct CloseDirectory {
  void operator()(DIR* directory) const { ::closedir(directory); }
};

bool matches_any(const std::vector<std::string>& globs, const std::string& relative) {
  return std::ranges::any_of(
      globs, [&](const std::string& glob) { return fs::matches_glob(glob, relative); });
}

bool has_frame_name(const std::string& name) {
  const auto content = fs::expected_content(name);
  return content == fs::Expected::frame || content == fs::Expected::array;
}

bool has_index(int directory) {
  struct stat st{};
  return ::fstatat(directory, fs::kSparseIndexName, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
         S_ISREG(st.st_mode);
}

bool lacks_index(int directory, const std::string& name) {
  if (!has_frame_name(name) || has_index(directory)) return false;
  const auto names = names_in(directory);
  return names && std::ranges::any_of(
                      *names, [](const std::string& file) { return file.ends_with(".chunk"); });
}

bool holds_sparse_frame(const fs::Place& place) {
  const auto directory = place.open_directory();
  if (!directory) return false;
  return has_index((*directory)->get()) || lacks_index((*directory)->get(), place.name());
}

}  // namespace

fs::Result<std::vector<std::string>> names_in(int directory) {
  FRAMEFS_TRY(auto fd, fs::open_beneath(directory, ".", O_RDONLY | O_DIRECTORY));
  const std::unique_ptr<DIR, CloseDirectory> stream(::fdopendir(fd.get()));
  if (!stream) return fs::system_error("open");
  static_cast<void>(fd.release());
  std::vector<std::string> names;
  errno = 0;
  while (const auto* const entry = ::readdir(stream.get())) {
    const std::string name = entry->d_name;
    if (name != "." && name != "..") names.push_back(name);
  }
  if (errno != 0) return fs::system_error("readdir");
  std::ranges::sort(names);
  return names;
}

bool TreeFilter::excludes(const std::string& relative) const {
  return matches_any(exclude, relative);
}

bool TreeFilter::takes(const std::string& relative) const {
  return include.empty() || matches_any(include, relative);
}

TreeWalk::TreeWalk(const TreeFilter& filter, Visit visit, Leave leave, Fail fail)
    : filter_(filter), visit_(std::move(visit)), leave_(std::move(leave)), fail_(std::move(fail)) {}

// A level holds no descriptor, and no path of its own: a tree may be deeper than a process may have
// open files, and than its memory would hold paths.
void TreeWalk::enter(const fs::Tree& top, const struct stat& stat) {
  Level level{.length = path_.size(), .stat = stat};
  auto directory = top.open_directory(path_);
  auto names = directory ? names_in((*directory)->get()) : std::unexpected(directory.error());
  if (names) {
    level.names = std::move(*names);
    directory_ = std::move(*directory);
  } else {
    fail_(top.path_of(path_), names.error());
  }
  levels_.push_back(std::move(level));
}

TreeWalk::Next TreeWalk::visit_next(const fs::Tree& top, Level& level) {
  if (!directory_) {
    auto directory = top.open_directory(path_);
    if (!directory) {
      fail_(top.path_of(path_), directory.error());
      level.next = level.names.size();
      return Next::skip;
    }
    directory_ = std::move(*directory);
  }
  const auto& name = level.names[level.next++];
  path_ += (path_.empty() ? "" : "/") + name;
  if (filter_.excludes(path_)) return Next::skip;
  TreeEntry entry{.place = {directory_, name, top.path_of(path_)}, .relative = path_};
  const auto st = entry.place.stat();
  if (!st) {
    if (st.error().sys != ENOENT) fail_(entry.path(), st.error());
    return Next::skip;
  }
  entry.stat = *st;
  const bool is_directory = S_ISDIR(st->st_mode);
  entry.is_sparse_frame = is_directory && holds_sparse_frame(entry.place);
  const auto next = visit_(entry);
  if (next != Next::entry || !is_directory || entry.is_sparse_frame) {
    return next == Next::end ? Next::end : Next::skip;
  }
  directory_.reset();
  enter(top, entry.stat);
  return Next::entry;
}

void TreeWalk::walk(const fs::Tree& top) {
  levels_.clear();
  path_.clear();
  directory_.reset();
  const auto st = fs::stat_of(top.directory()->get());
  if (!st) return fail_(top.path(), st.error());
  enter(top, *st);
  while (!levels_.empty()) {
    path_.resize(levels_.back().length);
    if (levels_.back().next < levels_.back().names.size()) {
      if (visit_next(top, levels_.back()) == Next::end) return;
      continue;
    }
    if (leave_) leave_(path_, levels_.back().stat);
    levels_.pop_back();
    directory_.reset();
  }
}

void walk_frames(const TreeFilter& filter, const stdfs::path& top,
                 const std::function<bool(const fs::Place& place)>& visit,
                 const TreeWalk::Fail& fail) {
  const auto visit_entry = [&](const TreeEntry& entry) {
    const bool is_file = S_ISREG(entry.stat.st_mode) || entry.is_sparse_frame;
    const bool is_frame = fs::expected_content(entry.place.name()) != fs::Expected::nothing;
    const bool is_wanted = is_file && is_frame && filter.takes(entry.relative);
    return is_wanted && !visit(entry.place) ? TreeWalk::Next::end : TreeWalk::Next::entry;
  };
  const auto tree = fs::Tree::open(top);
  if (!tree) return fail(top.string(), tree.error());
  TreeWalk(filter, visit_entry, nullptr, fail).walk(*tree);
}

bool is_tree(const stdfs::path& path) {
  const auto place = fs::Place::given(path);
  if (!place || has_frame_name(path.filename().string())) return false;
  const auto directory = place->open_directory();
  return directory && !has_index((*directory)->get());
}

bool is_frame_without_index(const fs::Place& place) {
  const auto directory = place.open_directory();
  return directory && lacks_index((*directory)->get(), place.name());
}

}  // namespace framefs
