#pragma once

#include <sys/types.h>

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace framefs::fs {

// A mount in the kernel's table.
struct MountTableEntry {
  int number = 0;    // of the mount, in this mount namespace
  dev_t device = 0;  // as in stat::st_dev of its files
  std::filesystem::path mountpoint;
  std::string options;  // of this mount, separated by commas
  std::string type;     // such as fuse.framefs
  std::string source;
  std::string filesystem_options;  // of the filesystem, common to all its mounts
};

// Reads the number of a device, which the kernel writes as "MAJOR:MINOR"; empty if it has another
// form.
std::optional<dev_t> parse_device(std::string_view text);

// Reads one line of /proc/self/mountinfo; empty if it has another form.
// Source: proc_pid_mountinfo(5).
std::optional<MountTableEntry> parse_mount_line(const std::string& line);

// The mounts that a process can see, the oldest first; `process` is its directory in /proc.  Sends
// no request to any of them.
std::vector<MountTableEntry> mount_table(const std::filesystem::path& process = "/proc/self");

// Whether `options`, a list separated by commas, contains `word`.
bool has_mount_option(std::string_view options, std::string_view word);

}  // namespace framefs::fs
