#include "src/pack/replacement_file.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <string>
#include <string_view>
#include <utility>

#include "src/pack/carried_attributes.h"
#include "src/pack/replaced_frame.h"

namespace framefs {
namespace {

// The name does not contain that of the target, which may be as long as a name can be.
constexpr std::string_view kUnfinished = ".framefs-unfinished.";
constexpr std::string_view kRandomPart = "XXXXXX";

mode_t mode_of_new_files() {
  const mode_t mask = ::umask(0);  // umask() cannot be read without setting it
  ::umask(mask);
  return 0666 & ~mask;
}

// Returns whether the file system has no file names as long as that.
bool is_too_long(const std::filesystem::path& path) {
  struct stat st{};
  return ::lstat(path.c_str(), &st) != 0 && errno == ENAMETOOLONG;
}

bool is_there(const std::filesystem::path& path) {
  struct stat st{};
  return ::lstat(path.c_str(), &st) == 0;
}

// A rename would replace a link or a device, such as /dev/null, by a regular file.
fs::Status check_replaceable(const std::filesystem::path& path) {
  struct stat st{};
  if (::lstat(path.c_str(), &st) != 0 || S_ISREG(st.st_mode)) return {};
  if (S_ISLNK(st.st_mode)) {
    return fs::refusal(ELOOP, "is a symbolic link, which is not replaced; name its target");
  }
  if (S_ISDIR(st.st_mode)) return fs::refusal(EISDIR, "is a directory, which is not replaced");
  return fs::refusal(ENOTSUP, "is a device or a socket, which is not replaced");
}

fs::Status sync_directory_of(const std::filesystem::path& path) {
  const auto parent = path.has_parent_path() ? path.parent_path() : std::filesystem::path(".");
  const fs::UniqueFd folder(::open(parent.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!folder) return fs::system_error("open of the directory");
  // Some file systems cannot sync a directory (EINVAL) and need no sync.
  if (::fsync(folder.get()) != 0 && errno != EINVAL)
    return fs::system_error("fsync of the directory");
  return {};
}

}  // namespace

bool is_unfinished(const std::filesystem::path& path) {
  const auto name = path.filename().string();
  return name.starts_with(kUnfinished) && name.size() == kUnfinished.size() + kRandomPart.size();
}

TargetKind target_kind_of(const std::filesystem::path& path) {
  if (path == kStandardStream) return TargetKind::stream;
  struct stat st{};
  if (::stat(path.c_str(), &st) != 0) return TargetKind::file;
  if (S_ISDIR(st.st_mode)) return TargetKind::directory;
  const bool is_stream = S_ISFIFO(st.st_mode) || S_ISCHR(st.st_mode) || S_ISSOCK(st.st_mode);
  return is_stream ? TargetKind::stream : TargetKind::file;
}

std::string target_text(const std::filesystem::path& path) {
  return path == kStandardStream ? "standard output" : path.string();
}

fs::Result<fs::UniqueFd> open_stream_target(const std::filesystem::path& path) {
  fs::UniqueFd fd(::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY));
  if (!fd) return codec::of_target(fs::system_error("open"));
  return fd;
}

fs::Result<ReplacementFile> ReplacementFile::create(std::filesystem::path target,
                                                    bool may_replace) {
  return codec::of_target(make(std::move(target), may_replace));
}

fs::Result<ReplacementFile> ReplacementFile::make(std::filesystem::path target, bool may_replace) {
  // An early check, before any work is done.  publish() checks again.
  if (is_too_long(target)) return fs::system_error("stat");
  if (!may_replace && is_there(target)) return fs::system_error_of(EEXIST, "target");
  FRAMEFS_CHECK(check_replaceable(target));
  ReplacementFile file(std::move(target), may_replace);
  auto text = (file.target_.parent_path() / kUnfinished).string().append(kRandomPart);
  fs::UniqueFd fd(::mkostemp(text.data(), O_CLOEXEC));
  if (!fd) return fs::system_error("its directory");
  file.temporary_ = text;
  file.sink_ = std::make_unique<fs::FileSink>(std::move(fd));
  return file;
}

ReplacementFile::~ReplacementFile() {
  if (sink_) ::unlink(temporary_.c_str());
}

fs::Status ReplacementFile::publish(const std::optional<struct stat>& like) {
  return codec::of_target(finish(like));
}

fs::Status ReplacementFile::finish(const std::optional<struct stat>& like) {
  const int fd = sink_->fd();
  FRAMEFS_TRY(const auto made, fs::stat_of(fd));
  const mode_t mode = like ? carried_mode(*like, made) : mode_of_new_files();
  if (::fchmod(fd, mode) != 0) return fs::system_error("fchmod");
  if (like) {
    const timespec times[2] = {{.tv_sec = 0, .tv_nsec = UTIME_OMIT}, like->st_mtim};
    if (::futimens(fd, times) != 0) return fs::system_error("futimens");
  }
  FRAMEFS_CHECK(sink_->sync());
  return take_name();
}

fs::Status ReplacementFile::publish_link(const std::filesystem::path& existing) {
  return codec::of_target(finish_link(existing));
}

fs::Status ReplacementFile::finish_link(const std::filesystem::path& existing) {
  // link() does not replace a file, and so the temporary name must be free.
  if (::unlink(temporary_.c_str()) != 0) return fs::system_error("unlink");
  if (::link(existing.c_str(), temporary_.c_str()) != 0) return fs::system_error("link");
  return take_name();
}

fs::Status ReplacementFile::take_name() {
  FRAMEFS_CHECK(rename_to_target());
  sink_.reset();
  return sync_directory_of(target_);
}

fs::Status ReplacementFile::rename_to_target() {
  const auto* from = temporary_.c_str();
  const auto* to = target_.c_str();
  if (may_replace_) {
    FRAMEFS_CHECK(check_replaceable(target_));
    std::unique_ptr<fs::FrameOwnership> owned;
    if (creates_lock_file_) {
      FRAMEFS_TRY(owned, own_replaced_frame(target_, *creates_lock_file_));
    }
    if (::rename(from, to) != 0) return fs::system_error("rename");
    return {};
  }
  if (::renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE) == 0) return {};
  if (errno != EINVAL && errno != ENOSYS) return fs::system_error("rename");
  // The file system does not support RENAME_NOREPLACE.  link() does not replace either, if the file
  // system has links.
  if (::link(from, to) == 0) {
    ::unlink(from);
    return {};
  }
  if (errno == EEXIST || is_there(target_)) return fs::system_error_of(EEXIST, "target");
  if (::rename(from, to) != 0) return fs::system_error("rename");
  return {};
}

}  // namespace framefs
