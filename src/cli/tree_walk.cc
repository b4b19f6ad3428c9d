#include "src/cli/tree_walk.h"

#include <dirent.h>
#include <fnmatch.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <utility>

#include "fs/core/file.h"
#include "fs/source/suffixes.h"

namespace framefs {
namespace {

namespace stdfs = std::filesystem;

struct CloseDirectory {
  void operator()(DIR* directory) const { ::closedir(directory); }
};

bool matches(const std::string& glob, const stdfs::path& relative) {
  const bool is_path = glob.find('/') != std::string::npos;
  const auto subject = is_path ? relative.string() : relative.filename().string();
  const auto* const pattern = glob.c_str() + (glob.starts_with('/') ? 1 : 0);
  return ::fnmatch(pattern, subject.c_str(), 0) == 0;
}

bool matches_any(const std::vector<std::string>& globs, const stdfs::path& relative) {
  return std::ranges::any_of(globs,
                             [&](const std::string& glob) { return matches(glob, relative); });
}

fs::Result<std::vector<std::string>> names_in(const stdfs::path& path) {
  const std::unique_ptr<DIR, CloseDirectory> directory(::opendir(path.c_str()));
  if (!directory) return fs::system_error("open");
  std::vector<std::string> names;
  errno = 0;
  while (const auto* const entry = ::readdir(directory.get())) {
    const std::string name = entry->d_name;
    if (name != "." && name != "..") names.push_back(name);
  }
  if (errno != 0) return fs::system_error("readdir");
  std::ranges::sort(names);
  return names;
}

bool has_frame_name(const stdfs::path& path) {
  const auto content = fs::expected_content(path.filename().string());
  return content == fs::Expected::frame || content == fs::Expected::array;
}

bool has_index(const stdfs::path& path) {
  struct stat st{};
  return ::lstat((path / "chunks.b2frame").c_str(), &st) == 0 && S_ISREG(st.st_mode);
}

bool holds_sparse_frame(const stdfs::path& path) {
  return has_index(path) || is_frame_without_index(path);
}

}  // namespace

bool TreeFilter::excludes(const stdfs::path& relative) const {
  return matches_any(exclude, relative);
}

bool TreeFilter::takes(const stdfs::path& relative) const {
  return include.empty() || matches_any(include, relative);
}

TreeWalk::TreeWalk(const TreeFilter& filter, Visit visit, Fail fail)
    : filter_(filter), visit_(std::move(visit)), fail_(std::move(fail)) {}

void TreeWalk::walk(const stdfs::path& top) const { static_cast<void>(directory(top, {})); }

// The recursion ends: the length of a path bounds the depth of a tree.
bool TreeWalk::directory(const stdfs::path& path, const stdfs::path& relative) const {
  const auto names = names_in(path);
  if (!names) {
    fail_(path, names.error());
    return true;
  }
  for (const auto& name : *names) {
    TreeEntry entry{.path = path / name, .relative = relative / name};
    if (filter_.excludes(entry.relative)) continue;
    if (::lstat(entry.path.c_str(), &entry.stat) != 0) {
      if (errno != ENOENT) fail_(entry.path, fs::system_error("stat").error());
      continue;
    }
    const bool is_directory = S_ISDIR(entry.stat.st_mode);
    entry.is_sparse_frame = is_directory && holds_sparse_frame(entry.path);
    if (!visit_(entry)) return false;
    const bool goes_deeper = is_directory && !entry.is_sparse_frame;
    if (goes_deeper && !directory(entry.path, entry.relative)) return false;
  }
  return true;
}

void walk_frames(const TreeFilter& filter, const stdfs::path& top,
                 const std::function<bool(const stdfs::path& path)>& visit,
                 const TreeWalk::Fail& fail) {
  const auto visit_entry = [&](const TreeEntry& entry) {
    const bool is_file = S_ISREG(entry.stat.st_mode) || entry.is_sparse_frame;
    const bool is_frame =
        fs::expected_content(entry.path.filename().string()) != fs::Expected::nothing;
    return !is_file || !is_frame || !filter.takes(entry.relative) || visit(entry.path);
  };
  TreeWalk(filter, visit_entry, fail).walk(top);
}

bool is_tree(const stdfs::path& path) {
  std::error_code none;
  return stdfs::is_directory(path, none) && !has_frame_name(path) && !has_index(path);
}

bool is_frame_without_index(const stdfs::path& path) {
  std::error_code none;
  if (!has_frame_name(path) || !stdfs::is_directory(path, none) || has_index(path)) return false;
  const auto names = names_in(path);
  return names && std::ranges::any_of(
                      *names, [](const std::string& name) { return name.ends_with(".chunk"); });
}

}  // namespace framefs
