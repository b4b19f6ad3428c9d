#include "fs/core/files/place.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdint>
#include <system_error>

namespace framefs::fs {
namespace {

// The C library of Debian 12 has no wrapper for openat2().
Result<UniqueFd> open_one_stage(int directory, const char* path, int flags, mode_t mode) {
  // O_NONBLOCK: a user may put a fifo into any place, or hold a lease of a file.
  if ((flags & O_PATH) == 0) flags |= O_NONBLOCK;
  // EAGAIN: an entry was renamed while the kernel checked that the path stays beneath; or another
  // process holds a lease, and may keep it for most of a minute.
  constexpr int kMaxAttempts = 100;
  for (int attempt = 1;; ++attempt) {
    open_how how{};
    how.flags = static_cast<std::uint64_t>(static_cast<unsigned>(flags | O_CLOEXEC));
    how.mode = (flags & O_CREAT) != 0 ? mode : 0;
    how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS;
    const auto fd = ::syscall(SYS_openat2, directory, path, &how, sizeof(how));
    if (fd >= 0) return UniqueFd(static_cast<int>(fd));
    const bool may_change = errno == EINTR || (errno == EAGAIN && attempt < kMaxAttempts);
    if (!may_change) return system_error("open");
  }
}

Result<Place::Directory> shared(UniqueFd fd) {
  if (!fd) return system_error("open");
  return std::make_shared<const UniqueFd>(std::move(fd));
}

Result<Place::Directory> open_given_directory(const std::filesystem::path& path) {
  return shared(UniqueFd(::open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC)));
}

}  // namespace

Result<UniqueFd> open_beneath(int directory, const std::string& relative, int flags, mode_t mode) {
  UniqueFd hop;
  int from = directory;
  std::string rest = relative;
  // The kernel accepts paths below PATH_MAX bytes: longer paths are opened in stages.
  while (rest.size() >= PATH_MAX) {
    const auto cut = rest.rfind('/', PATH_MAX - 1);
    if (cut == std::string::npos) return system_error_of(ENAMETOOLONG, "open");
    FRAMEFS_TRY(hop, open_one_stage(from, rest.substr(0, cut).c_str(), O_PATH | O_DIRECTORY, 0));
    from = hop.get();
    rest.erase(0, cut + 1);
  }
  return open_one_stage(from, rest.c_str(), flags, mode);
}

Result<Place> Place::given(const std::filesystem::path& path) {
  const auto parent = path.has_parent_path() ? path.parent_path() : std::filesystem::path(".");
  FRAMEFS_TRY(auto directory, open_given_directory(parent));
  // "x/" is the directory x, and "/" is its own parent.
  const auto name = path.has_filename() ? path.filename() : std::filesystem::path(".");
  Place place(std::move(directory), name.string(), path.string());
  place.follows_ = true;
  return place;
}

Result<Place> Place::behind_links(const std::filesystem::path& path) {
  std::error_code error;
  const auto real = std::filesystem::canonical(path, error);
  if (error) return system_error_of(error.value(), "open");
  FRAMEFS_TRY(auto directory, open_given_directory(real.parent_path()));
  const auto name = real.has_filename() ? real.filename().string() : std::string(".");
  return Place(std::move(directory), name, path.string());
}

Place Place::beside(const std::string& name) const {
  const auto parent = path_.rfind('/');
  return {directory_, name,
          parent == std::string::npos ? name : path_.substr(0, parent + 1) + name};
}

Result<UniqueFd> Place::open(int flags, mode_t mode) const {
  if (!follows_) return open_beneath(directory(), name_, flags | O_NOFOLLOW, mode);
  UniqueFd fd(::openat(directory(), name_.c_str(), flags | O_CLOEXEC, mode));
  if (!fd) return system_error("open");
  return fd;
}

Result<Place::Directory> Place::open_directory() const {
  FRAMEFS_TRY(auto fd, open(O_PATH | O_DIRECTORY));
  return std::make_shared<const UniqueFd>(std::move(fd));
}

Result<bool> Place::make_directory() const {
  if (::mkdirat(directory(), name_.c_str(), 0777) == 0) return true;
  if (errno != EEXIST) return system_error("mkdir");
  FRAMEFS_TRY(const auto st, stat());
  if (S_ISDIR(st.st_mode)) return false;
  if (!S_ISLNK(st.st_mode)) return refusal(ENOTDIR, "is not a directory");
  return refusal(ENOTDIR, "is a symbolic link, through which nothing is written");
}

Result<struct stat> Place::stat() const {
  struct stat st{};
  if (::fstatat(directory(), name_.c_str(), &st, AT_SYMLINK_NOFOLLOW) != 0) {
    return system_error("stat");
  }
  return st;
}

bool is_same_object(const Place& one, const Place& other) {
  const auto a = one.open(O_PATH);
  const auto b = other.open(O_PATH);
  if (!a || !b) return false;
  const auto st_a = stat_of(a->get());
  const auto st_b = stat_of(b->get());
  return st_a && st_b && file_key(*st_a) == file_key(*st_b);
}

Result<Tree> Tree::open(const std::filesystem::path& path) {
  FRAMEFS_TRY(auto directory, open_given_directory(path));
  return Tree(std::move(directory), path.string());
}

Result<Tree> Tree::at(const Place& place) {
  FRAMEFS_TRY(auto directory, place.open_directory());
  return Tree(std::move(directory), place.path());
}

Result<Place::Directory> Tree::open_directory(const std::string& relative) const {
  if (relative.empty()) return directory_;
  FRAMEFS_TRY(auto fd, open_beneath(directory_->get(), relative, O_PATH | O_DIRECTORY));
  return shared(std::move(fd));
}

std::string Tree::path_of(const std::string& relative) const {
  if (relative.empty()) return path_;
  return path_ + (path_.ends_with('/') ? "" : "/") + relative;
}

Result<Place> Tree::place(const std::string& relative) const {
  const auto parent = relative.rfind('/');
  const bool is_below = parent != std::string::npos;
  FRAMEFS_TRY(auto directory, open_directory(is_below ? relative.substr(0, parent) : ""));
  return Place(std::move(directory), is_below ? relative.substr(parent + 1) : relative,
               path_of(relative));
}

}  // namespace framefs::fs
