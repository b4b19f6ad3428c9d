#include "src/doctor/path_findings.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>

#include <fmt/core.h>

#include "fs/core/diagnostics/error_map.h"
#include "fs/core/files/file.h"
#include "fs/core/files/inotify_reports.h"
#include "fs/core/files/mount_table.h"
#include "fs/core/mount_options.h"
#include "fs/fuse/session/session.h"
#include "fs/net/store/source_url.h"
#include "fs/source/directory_items.h"
#include "fs/source/source_claim.h"
#include "fs/source/suffixes.h"
#include "fs/tree/mount_root.h"
#include "src/mount/mountpoint_state.h"
#include "src/observe/mount_daemon.h"
#include "src/observe/mount_list.h"

namespace framefs {
namespace {

namespace stdfs = std::filesystem;

const std::string kSource = "SOURCE";
const std::string kMountpoint = "MOUNTPOINT";

std::string filesystem_type(dev_t device) {
  for (const auto& mount : fs::mount_table()) {
    if (mount.device == device) return mount.type;
  }
  return "an unknown filesystem";
}

// Whether files without a name can be made, of which new frames are made.
bool has_unnamed_files(int directory) {
  return static_cast<bool>(
      fs::UniqueFd(::openat(directory, ".", O_RDWR | O_TMPFILE | O_CLOEXEC, 0600)));
}

bool has_attributes(const stdfs::path& path) {
  return ::getxattr(path.c_str(), "user.framefs.doctor", nullptr, 0) >= 0 || errno != ENOTSUP;
}

void add_lock_files(Findings& findings, int directory) {
  std::uint64_t all = 0;
  std::uint64_t closed = 0;
  const auto done = fs::for_each_item(directory, [&](const fs::SourceItem& item) {
    if (!fs::is_hidden(item.name)) return true;
    ++all;
    if (::faccessat(directory, item.name.c_str(), R_OK | W_OK, AT_EACCESS) != 0) ++closed;
    return true;
  });
  if (!done || all == 0) return;
  if (closed == 0) return findings.ok("lock files", fmt::format("{}; all can be locked", all));
  findings.note("lock files",
                fmt::format("{} of {} cannot be opened by this user; their frames can "
                            "only be read; chmod g+rw the .b2lock files",
                            closed, all));
}

// Adds the limits of changes through a mount that is not read-only.
void add_changes(Findings& findings, const stdfs::path& path, bool is_directory) {
  if (::faccessat(AT_FDCWD, path.c_str(), W_OK, AT_EACCESS) != 0) {
    return findings.note(kSource, "this user may not write there; the mount can only be read");
  }
  const auto claim = fs::SourceClaim::take(path, false);
  if (!claim) {
    findings.note(kSource, fs::describe(claim.error()) + "; mount with --ro, or end that mount");
  }
  if (!is_directory) return;
  const fs::UniqueFd directory(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!directory) return;
  if (!has_unnamed_files(directory.get())) {
    findings.note(kSource,
                  "no O_TMPFILE there; a new file that nobody commits before a crash "
                  "leaves an empty frame");
  }
  if (!fs::is_reported_by_inotify(directory.get())) {
    findings.note(kSource,
                  "inotify does not report all changes there; each look-up of an absent "
                  "name costs a request");
  }
  add_lock_files(findings, directory.get());
}

Findings source_findings(const stdfs::path& path, const struct stat& st) {
  Findings findings;
  fs::MountOptions options;
  options.source = path;
  const auto root = fs::find_mount_root(options);
  if (!root) {
    findings.bad(kSource, fs::describe(root.error()));
    return findings;
  }
  const bool is_directory = S_ISDIR(st.st_mode) && root->shown_as == fs::ShownAs::itself;
  findings.ok(kSource, fmt::format("{} on {}",
                                   is_directory                               ? "a directory"
                                   : root->shown_as == fs::ShownAs::container ? "a container"
                                                                              : "one frame",
                                   filesystem_type(st.st_dev)));
  if (const auto* const why = fs::why_read_only(options, *root)) {
    findings.note(kSource, std::string("the mount would be read-only, because ") + why);
  } else {
    add_changes(findings, path, is_directory);
  }
  if (!has_attributes(path)) {
    findings.note(kSource,
                  "no extended attributes there; those of plain files are refused "
                  "(EOPNOTSUPP), and metalayers work");
  }
  return findings;
}

// fusermount3 lets users mount where they may write.
bool may_mount_on(const stdfs::path& path, const struct stat& st) {
  const auto user = ::geteuid();
  if (user == 0) return true;
  const bool is_sticky = S_ISDIR(st.st_mode) && (st.st_mode & S_ISVTX) != 0;
  return (!is_sticky || st.st_uid == user) && ::access(path.c_str(), W_OK) == 0;
}

Findings mountpoint_findings(const stdfs::path& path, const struct stat& st) {
  Findings findings;
  fs::MountOptions options;
  options.mountpoint = path;
  if (!S_ISDIR(st.st_mode) && !S_ISREG(st.st_mode)) {
    findings.bad(kMountpoint, "is neither a directory nor a file");
  } else if (!may_mount_on(path, st)) {
    findings.bad(kMountpoint, "this user may not write there, and fusermount3 requires it");
  } else if (hides_files(options)) {
    findings.note(kMountpoint, "is not empty; --nonempty mounts anyway, and hides the files");
  } else {
    findings.ok(kMountpoint, S_ISDIR(st.st_mode) ? "an empty directory" : "a file, for one frame");
  }
  return findings;
}

void add_mount(Findings& findings, const FramefsMount& mount,
               const std::optional<MountDaemon>& daemon) {
  const auto what = fmt::format("a mount of {}, {}", mount.source,
                                mount.is_read_only ? "read-only" : "read-write");
  if (!daemon) return findings.ok(kMountpoint, what + "; its daemon is not in this /proc");
  if (daemon->is_stopped) {
    return findings.bad(
        kMountpoint,
        fmt::format("{}; its daemon is stopped; kill -CONT {} continues it", what, daemon->pid));
  }
  findings.ok(kMountpoint, fmt::format("{}; the daemon is process {}", what, daemon->pid));
}

}  // namespace

Findings path_findings(const std::string& path) {
  Findings findings;
  if (net::is_source_url(path)) {
    findings.ok(kSource,
                "a URL; the mount is read-only, and framefs -f shows what the server says");
    return findings;
  }
  // A mount of framefs with a daemon is not asked, because the daemon may hang.
  const auto mount = framefs_mount_at(place_of_mount(path));
  const auto daemon = mount ? find_daemon(*mount) : std::nullopt;
  if (!daemon && is_stale_mount(path)) {
    findings.bad(kMountpoint, fmt::format("a mount whose daemon is gone; framefs umount '{}' "
                                          "removes it, and so does --replace-stale",
                                          path));
    return findings;
  }
  if (mount) {
    add_mount(findings, *mount, daemon);
    return findings;
  }
  std::error_code error;
  const auto canonical = stdfs::canonical(path, error);
  struct stat st{};
  if (error || ::stat(canonical.c_str(), &st) != 0) {
    const auto cause = error ? error.message() : std::generic_category().message(errno);
    findings.bad("path", fmt::format("{}: {}{}", path, cause,
                                     error == std::errc::no_such_file_or_directory
                                         ? "; mkdir -p makes a directory"
                                         : ""));
    return findings;
  }
  auto source = source_findings(canonical, st);
  auto mountpoint = mountpoint_findings(canonical, st);
  if (!source.has_bad()) mountpoint.soften();
  if (!mountpoint.has_bad()) source.soften();
  findings.add_all(source);
  findings.add_all(mountpoint);
  return findings;
}

}  // namespace framefs
