#include "src/observe/mount_daemon.h"

#include <pwd.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string_view>
#include <system_error>
#include <vector>

#include "codec/core/parse_number.h"
#include "src/cli/given_path.h"

namespace framefs {
namespace {

namespace stdfs = std::filesystem;

constexpr std::string_view kProgram = "framefs";

std::string content_of(const stdfs::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

// The state of a process, such as 'S'; 0 if it is no framefs.  Source: proc_pid_stat(5).
char state_of_framefs(const stdfs::path& process) {
  const auto text = content_of(process / "stat");
  const auto begin = text.find('(');
  const auto end = text.rfind(')');
  if (begin == std::string::npos || end == std::string::npos || end + 2 >= text.size()) return 0;
  const auto name = std::string_view(text).substr(begin + 1, end - begin - 1);
  // A daemon may run under the name mount.framefs.
  return name.ends_with(kProgram) ? text[end + 2] : '\0';
}

// Whether an argument of a command line names the mountpoint.  A daemon has left the directory in
// which its command was given, so that the end of the path counts.
bool names_mountpoint(std::string_view argument, const std::string& mountpoint) {
  const auto path = stdfs::path(argument).lexically_normal();
  auto text = given_path(path.string());
  if (path.is_absolute()) {
    std::error_code none;
    return text == mountpoint ||
           stdfs::weakly_canonical(path.parent_path(), none) / path.filename() == mountpoint;
  }
  while (text.starts_with("../")) text.erase(0, 3);
  return !text.empty() && text != "." && mountpoint.ends_with("/" + text);
}

std::vector<std::string> arguments_of_process(const stdfs::path& process) {
  std::istringstream line(content_of(process / "cmdline"));
  std::vector<std::string> arguments;
  for (std::string word; std::getline(line, word, '\0');) arguments.push_back(std::move(word));
  return arguments;
}

// The commands that take a mountpoint and do not mount.
constexpr std::array<std::string_view, 5> kObservers = {"stats", "log", "doctor", "umount", "info"};

bool serves(const stdfs::path& process, const std::string& mountpoint) {
  const auto arguments = arguments_of_process(process);
  if (arguments.size() < 3) return false;
  if (std::ranges::find(kObservers, arguments[1]) != kObservers.end()) return false;
  return std::any_of(arguments.begin() + 1, arguments.end(), [&](const std::string& argument) {
    return names_mountpoint(argument, mountpoint);
  });
}

// Whether the kernel says that the process serves mounts, and that this is not one of them.  Older
// kernels do not say it, and none tells anybody but root of a daemon that protects its memory.
bool serves_others_only(const stdfs::path& process, dev_t device) {
  constexpr std::string_view kConnection = "fuse_connection:";
  bool serves_any = false;
  std::error_code none;
  for (const auto& fd : stdfs::directory_iterator(process / "fd", none)) {
    if (stdfs::read_symlink(fd.path(), none) != "/dev/fuse") continue;
    std::istringstream info(content_of(process / "fdinfo" / fd.path().filename()));
    for (std::string word; info >> word;) {
      unsigned connection = 0;
      if (word != kConnection || !(info >> connection)) continue;
      if (makedev(0, connection) == device) return false;
      serves_any = true;
    }
  }
  return serves_any;
}

std::optional<unsigned> number_after(std::string_view word, std::string_view options) {
  const auto at = options.find(word);
  if (at == std::string_view::npos) return std::nullopt;
  const auto text = options.substr(at + word.size());
  return codec::parse_number<unsigned>(text.substr(0, text.find(',')));
}

}  // namespace

std::optional<uid_t> user_of(const std::string& filesystem_options) {
  return number_after("user_id=", filesystem_options);
}

std::optional<gid_t> group_of(const std::string& filesystem_options) {
  return number_after("group_id=", filesystem_options);
}

std::string user_name(uid_t user) {
  const auto* const entry = ::getpwuid(user);
  return entry != nullptr ? std::string(entry->pw_name) : std::to_string(user);
}

std::optional<MountDaemon> find_daemon(const fs::MountTableEntry& mount) {
  const auto user = user_of(mount.filesystem_options);
  std::vector<MountDaemon> found;
  std::error_code none;
  for (const auto& process : stdfs::directory_iterator("/proc", none)) {
    const auto pid = codec::parse_number<pid_t>(process.path().filename().string());
    struct stat st{};
    const bool may_be =
        pid && user && ::stat(process.path().c_str(), &st) == 0 && st.st_uid == *user;
    const char state = may_be ? state_of_framefs(process.path()) : '\0';
    if (state == 0 || state == 'Z' || !serves(process.path(), mount.mountpoint.string())) continue;
    if (serves_others_only(process.path(), mount.device)) continue;
    found.push_back({.pid = *pid, .is_stopped = state == 'T' || state == 't'});
  }
  if (found.size() != 1) return std::nullopt;
  return found.front();
}

}  // namespace framefs
