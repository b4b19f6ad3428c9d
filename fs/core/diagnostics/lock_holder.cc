#include "fs/core/diagnostics/lock_holder.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <limits>
#include <memory>
#include <string_view>
#include <vector>

#include <fmt/core.h>

#include "codec/core/parse_number.h"
#include "fs/core/diagnostics/log.h"
#include "fs/core/files/mount_table.h"

namespace framefs::fs {
namespace {

// Bounds of one search.  Looking at a descriptor takes one to ten microseconds.
constexpr std::size_t kMaxLocksBytes = 1u << 20;
constexpr std::size_t kMaxFdinfoBytes = 4096;
constexpr int kMaxDescriptors = 4096;
constexpr std::size_t kMaxNameBytes = 64;

struct CloseDirectory {
  void operator()(DIR* directory) const { ::closedir(directory); }
};
using Directory = std::unique_ptr<DIR, CloseDirectory>;

// The start of a file of /proc; empty if it cannot be read.
std::string start_of(int directory, const char* path, std::size_t max_bytes) {
  const UniqueFd fd(::openat(directory, path, O_RDONLY | O_CLOEXEC));
  std::string text;
  std::array<char, 4096> part{};
  while (fd && text.size() < max_bytes) {
    const auto got = ::read(fd.get(), part.data(), part.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    text.append(part.data(), static_cast<std::size_t>(got));
  }
  return text;
}

// Splits `text` at each `separator`; leaves out empty parts.
std::vector<std::string_view> parts_of(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (!text.empty()) {
    const auto end = std::min(text.find(separator), text.size());
    if (end > 0) parts.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parts;
}

// A lock as the lines of /proc describe it.
class WantedLock {
 public:
  WantedLock(int fd, std::optional<std::uint64_t> byte) : byte_(byte) {
    struct stat st{};
    if (::fstat(fd, &st) != 0) return;
    auto device = st.st_dev;
    // Some file systems report another device by fstat() than /proc shows: that of the mount.
    const auto info =
        start_of(AT_FDCWD, fmt::format("/proc/self/fdinfo/{}", fd).c_str(), kMaxFdinfoBytes);
    for (const auto line : parts_of(info, '\n')) {
      constexpr std::string_view kMount = "mnt_id:\t";
      if (line.starts_with(kMount)) device = device_of_mount(line.substr(kMount.size()), device);
    }
    file_ = fmt::format("{:02x}:{:02x}:{}", major(device), minor(device), st.st_ino);
  }

  // "1: OFDLCK  ADVISORY  WRITE -1 fe:01:1234 0 EOF": number, kind, whether it is mandatory, mode,
  // process, file, first byte, last byte.  Returns the process if the line is about the lock; the
  // process of an open-file-description lock is -1.
  [[nodiscard]] std::optional<pid_t> holder_in(std::string_view line) const {
    const auto fields = parts_of(line, ' ');
    if (fields.size() != 8) return std::nullopt;
    const auto kind = fields[1];
    const auto process = fields[4];
    const auto file = fields[5];
    if (file != file_ || kind != (byte_ ? "OFDLCK" : "FLOCK")) return std::nullopt;
    if (byte_ && !contains(fields[6], fields[7], *byte_)) return std::nullopt;
    return codec::parse_number<pid_t>(process);
  }

 private:
  // Source: proc_pid_mountinfo(5): number of the mount, number of its parent, device.
  static dev_t device_of_mount(std::string_view mount, dev_t otherwise) {
    const auto mounts = start_of(AT_FDCWD, "/proc/self/mountinfo", kMaxLocksBytes);
    for (const auto line : parts_of(mounts, '\n')) {
      const auto fields = parts_of(line.substr(0, line.find('/')), ' ');
      if (fields.size() != 3 || fields[0] != mount) continue;
      if (const auto device = parse_device(fields[2])) return *device;
    }
    return otherwise;
  }

  static bool contains(std::string_view first, std::string_view last, std::uint64_t byte) {
    const auto begin = codec::parse_number<std::uint64_t>(first);
    const auto end = last == "EOF" ? std::optional(std::numeric_limits<std::uint64_t>::max())
                                   : codec::parse_number<std::uint64_t>(last);
    return begin && end && *begin <= byte && byte <= *end;
  }

  const std::optional<std::uint64_t> byte_;
  std::string file_;  // device:inode
};

// Whether the descriptor `name` of a process, whose directory is `process`, holds the lock.
bool holds(int process, const std::string& name, const WantedLock& wanted) {
  // The path of the open file tells files from sockets and pipes.  It is not followed, because
  // that could wait for the file system of the other process.
  char first = 0;
  if (::readlinkat(process, ("fd/" + name).c_str(), &first, 1) != 1 || first != '/') return false;
  const auto info = start_of(process, ("fdinfo/" + name).c_str(), kMaxFdinfoBytes);
  return std::ranges::any_of(parts_of(info, '\n'), [&](std::string_view line) {
    constexpr std::string_view kLock = "lock:\t";
    return line.starts_with(kLock) && wanted.holder_in(line.substr(kLock.size()));
  });
}

Directory open_listing(int directory, const char* path) {
  UniqueFd fd(::openat(directory, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  Directory listing(fd ? ::fdopendir(fd.get()) : nullptr);
  if (listing) static_cast<void>(fd.release());
  return listing;
}

// The entries of a directory that are numbers.
std::vector<std::string> numbers_in(int directory, const char* path) {
  std::vector<std::string> names;
  const auto listing = open_listing(directory, path);
  while (const auto* const entry = listing ? ::readdir(listing.get()) : nullptr) {
    if (codec::parse_number<pid_t>(entry->d_name)) names.emplace_back(entry->d_name);
  }
  return names;
}

std::string name_of(const std::string& pid) {
  auto name = start_of(AT_FDCWD, ("/proc/" + pid + "/comm").c_str(), kMaxNameBytes);
  if (name.ends_with('\n')) name.pop_back();
  return name;
}

std::optional<pid_t> process_with(const WantedLock& wanted) {
  auto pids = numbers_in(AT_FDCWD, "/proc");
  // These come first, because other programs hardly ever have such a lock.
  std::ranges::stable_partition(pids, [](const std::string& pid) {
    return name_of(pid).find("framefs") != std::string::npos;
  });
  int left = kMaxDescriptors;
  for (const auto& pid : pids) {
    const UniqueFd process(::open(("/proc/" + pid).c_str(), O_PATH | O_CLOEXEC));
    for (const auto& name : numbers_in(process.get(), "fd")) {
      if (left-- == 0) return std::nullopt;
      if (holds(process.get(), name, wanted)) return codec::parse_number<pid_t>(pid);
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<pid_t> lock_holder(int fd, std::optional<std::uint64_t> byte) {
  const WantedLock wanted(fd, byte);
  const auto locks = start_of(AT_FDCWD, "/proc/locks", kMaxLocksBytes);
  for (const auto line : parts_of(locks, '\n')) {
    const auto holder = wanted.holder_in(line);
    if (holder) return *holder > 0 ? holder : process_with(wanted);
  }
  return std::nullopt;
}

std::unexpected<Error> lock_error(const char* what, int fd, std::optional<std::uint64_t> byte) {
  auto failed = system_error_of(EBUSY, what);
  if (const auto holder = lock_holder(fd, byte)) failed.error().value = *holder;
  return failed;
}

std::string process_text(std::int64_t pid) {
  const auto name = name_of(std::to_string(pid));
  if (name.empty()) return fmt::format("process {}", pid);
  return fmt::format("process {} ({})", pid, printable(name));
}

}  // namespace framefs::fs
