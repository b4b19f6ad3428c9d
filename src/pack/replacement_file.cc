#include "src/pack/replacement_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <random>
#include <string>
#include <string_view>
#include <utility>

#include "src/pack/carried_attributes.h"
#include "src/pack/replaced_frame.h"

namespace framefs {
namespace {

// The name does not contain that of the target, which may be as long as a name can be.
constexpr std::string_view kUnfinished = ".framefs-unfinished.";
constexpr std::size_t kRandomLetters = 6;

mode_t mode_of_new_files() {
  const mode_t mask = ::umask(0);  // umask() cannot be read without setting it
  ::umask(mask);
  return 0666 & ~mask;
}

// A rename would replace a link or a device, such as /dev/null, by a regular file.
fs::Status check_replaceable(const fs::Place& place) {
  const auto st = place.stat();
  if (!st || S_ISREG(st->st_mode)) return {};
  if (S_ISLNK(st->st_mode)) {
    return fs::refusal(ELOOP, "is a symbolic link, which is not replaced; name its target");
  }
  if (S_ISDIR(st->st_mode)) return fs::refusal(EISDIR, "is a directory, which is not replaced");
  return fs::refusal(ENOTSUP, "is a device or a socket, which is not replaced");
}

fs::Status sync_directory_of(const fs::Place& place) {
  const auto folder = fs::open_beneath(place.directory(), ".", O_RDONLY | O_DIRECTORY);
  if (!folder) return fs::system_error_of(folder.error().sys, "open of the directory");
  // Some file systems cannot sync a directory (EINVAL) and need no sync.
  if (::fsync(folder->get()) != 0 && errno != EINVAL)
    return fs::system_error("fsync of the directory");
  return {};
}

std::string random_name() {
  constexpr std::string_view kLetters =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
  std::random_device random;
  std::uniform_int_distribution<std::size_t> letter(0, kLetters.size() - 1);
  std::string name(kUnfinished);
  for (std::size_t i = 0; i < kRandomLetters; ++i) name += kLetters[letter(random)];
  return name;
}

struct NewFile {
  fs::Place place;
  fs::UniqueFd fd;
};

// Makes a file with a name that is free.
fs::Result<NewFile> make_unfinished(const fs::Place& target) {
  constexpr int kMaxAttempts = 100;
  for (int i = 0; i < kMaxAttempts; ++i) {
    auto place = target.beside(random_name());
    auto fd = place.open(O_RDWR | O_CREAT | O_EXCL, 0600);
    if (fd) return NewFile{std::move(place), std::move(*fd)};
    if (fd.error().sys != EEXIST) return fs::system_error_of(fd.error().sys, "its directory");
  }
  return fs::system_error_of(EEXIST, "its directory");
}

}  // namespace

bool is_unfinished(const std::string& name) {
  return name.starts_with(kUnfinished) && name.size() == kUnfinished.size() + kRandomLetters;
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

fs::Result<fs::Place> place_of_target(const std::filesystem::path& path) {
  auto place = fs::Place::given(path);
  if (!place) return codec::of_target(fs::system_error_of(place.error().sys, "its directory"));
  return place;
}

fs::Result<ReplacementFile> ReplacementFile::create(fs::Place target, bool may_replace) {
  return codec::of_target(make(std::move(target), may_replace));
}

fs::Result<ReplacementFile> ReplacementFile::create(const std::filesystem::path& target,
                                                    bool may_replace) {
  FRAMEFS_TRY(auto place, place_of_target(target));
  return create(std::move(place), may_replace);
}

fs::Result<ReplacementFile> ReplacementFile::make(fs::Place target, bool may_replace) {
  // An early check, before any work is done.  publish() checks again.
  const auto there = target.stat();
  if (!there && there.error().sys == ENAMETOOLONG) return std::unexpected(there.error());
  if (!may_replace && there) return fs::system_error_of(EEXIST, "target");
  FRAMEFS_CHECK(check_replaceable(target));
  FRAMEFS_TRY(auto made, make_unfinished(target));
  ReplacementFile file(std::move(target), std::move(made.place), may_replace);
  file.sink_ = std::make_unique<fs::FileSink>(std::move(made.fd));
  return file;
}

ReplacementFile::~ReplacementFile() {
  if (sink_) ::unlinkat(temporary_.directory(), temporary_.name().c_str(), 0);
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

fs::Status ReplacementFile::publish_link(const fs::Place& existing) {
  return codec::of_target(finish_link(existing));
}

fs::Status ReplacementFile::finish_link(const fs::Place& existing) {
  // linkat() does not replace a file, and so the temporary name must be free.
  const int directory = temporary_.directory();
  const auto* name = temporary_.name().c_str();
  if (::unlinkat(directory, name, 0) != 0) return fs::system_error("unlink");
  if (::linkat(existing.directory(), existing.name().c_str(), directory, name, 0) != 0) {
    return fs::system_error("link");
  }
  return take_name();
}

fs::Status ReplacementFile::take_name() {
  FRAMEFS_CHECK(rename_to_target());
  sink_.reset();
  return sync_directory_of(target_);
}

fs::Status ReplacementFile::rename_to_target() {
  const int directory = target_.directory();
  const auto* from = temporary_.name().c_str();
  const auto* to = target_.name().c_str();
  if (may_replace_) {
    FRAMEFS_CHECK(check_replaceable(target_));
    std::unique_ptr<fs::FrameOwnership> owned;
    if (creates_lock_file_) {
      FRAMEFS_TRY(owned, own_replaced_frame(target_, *creates_lock_file_));
    }
    if (replaced_state_) {
      FRAMEFS_TRY(const auto now, target_.stat());
      if (fs::identity_of(now) != *replaced_state_) {
        return fs::refusal(ESTALE, "changed while it was read, and is kept");
      }
    }
    if (::renameat(directory, from, directory, to) != 0) return fs::system_error("rename");
    return {};
  }
  if (::renameat2(directory, from, directory, to, RENAME_NOREPLACE) == 0) return {};
  if (errno != EINVAL && errno != ENOSYS) return fs::system_error("rename");
  // The file system does not support RENAME_NOREPLACE.  linkat() does not replace either, if the
  // file system has links.
  if (::linkat(directory, from, directory, to, 0) == 0) {
    ::unlinkat(directory, from, 0);
    return {};
  }
  if (errno == EEXIST || target_.exists()) return fs::system_error_of(EEXIST, "target");
  if (::renameat(directory, from, directory, to) != 0) return fs::system_error("rename");
  return {};
}

}  // namespace framefs
