#include "src/observe/written_data.h"

#include <fcntl.h>
#include <linux/mount.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <set>
#include <system_error>

#include <fmt/core.h>

#include "codec/core/parse_number.h"
#include "fs/core/files/mount_table.h"
#include "fs/fuse/ops/commit_attribute.h"

namespace framefs {
namespace {

namespace stdfs = std::filesystem;

// A place of the device in the mounts of a process.
std::optional<std::string> place_in(const stdfs::path& process, dev_t device) {
  const auto mounts = fs::mount_table(process);
  const auto found = std::ranges::find(mounts, device, &fs::MountTableEntry::device);
  if (found == mounts.end()) return std::nullopt;
  return found->mountpoint.string();
}

// Another mount namespace that has the device.
std::optional<std::string> keeping_process(dev_t device) {
  std::error_code error;
  std::set<stdfs::path> seen;
  for (stdfs::directory_iterator at("/proc", error), end; !error && at != end;
       at.increment(error)) {
    const auto name = at->path().filename().string();
    if (!codec::parse_number<pid_t>(name)) continue;
    std::error_code none;
    const auto space = stdfs::read_symlink(at->path() / "ns/mnt", none);
    if (none || !seen.insert(space).second) continue;
    if (const auto place = place_in(at->path(), device)) {
      return fmt::format("the mount namespace of process {} has it at {}", name, *place);
    }
  }
  return std::nullopt;
}

}  // namespace

MountLink::MountLink(const stdfs::path& mountpoint)
    : tree_(static_cast<int>(::syscall(SYS_open_tree, AT_FDCWD, mountpoint.c_str(),
                                       OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC))) {}

std::optional<WrittenData> commit_written_data(const stdfs::path& mount) {
  std::string text(fuse::kMaxCommitBytes, '\0');
  const auto got = ::getxattr(mount.c_str(), fuse::kCommitAttribute, text.data(), text.size());
  if (got < 0) return std::nullopt;
  text.resize(static_cast<std::size_t>(got));
  WrittenData written;
  for (std::size_t at = 0; at < text.size();) {
    const auto end = std::min(text.find('\0', at), text.size());
    if (end == at) written.has_more = true;
    if (end > at) written.lost.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return written;
}

std::optional<std::string> keeper_of_mount(dev_t device) {
  if (const auto place = place_in("/proc/self", device)) {
    return fmt::format("{} still has it", *place);
  }
  if (auto process = keeping_process(device)) return process;
  std::error_code none;
  // The directory of the connection is gone when the mount has ended.
  const auto connection = fmt::format("/sys/fs/fuse/connections/{}", minor(device));
  if (stdfs::exists(connection, none)) return "another process still has it open";
  return std::nullopt;
}

}  // namespace framefs
