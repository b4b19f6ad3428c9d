#include "src/doctor/machine_findings.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <optional>
#include <sstream>
#include <string_view>
#include <system_error>

#include <fmt/core.h>
#include <fmt/ranges.h>

#include "fs/core/diagnostics/error_map.h"
#include "fs/core/files/file.h"
#include "fs/core/files/place.h"
#include "fs/core/resources/memory_limit.h"
#include "fs/fuse/confine/sandbox.h"
#include "fs/fuse/session/session.h"
#include "src/cli/size_text.h"
#include "src/doctor/program_features.h"

namespace framefs {
namespace {

std::string message_of(int error) { return std::generic_category().message(error); }

std::string text_of_file(const std::string& path) {
  std::ifstream in(path);
  std::string text{std::istreambuf_iterator<char>(in), {}};
  while (text.ends_with('\n')) text.pop_back();
  return text;
}

bool may_mount_as_root() {
  struct {
    __user_cap_header_struct header{.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
    std::array<__user_cap_data_struct, _LINUX_CAPABILITY_U32S_3> data{};
  } sets;
  if (::syscall(SYS_capget, &sets.header, sets.data.data()) != 0) return false;
  return ::geteuid() == 0 && (sets.data[0].effective & (1u << CAP_SYS_ADMIN)) != 0;
}

void add_kernel(Findings& findings) {
  utsname name{};
  ::uname(&name);
  const auto text = fmt::format("Linux {} on {}", name.release, name.machine);
  const fs::UniqueFd root(::open("/", O_PATH | O_DIRECTORY | O_CLOEXEC));
  const auto opened = fs::open_beneath(root.get(), ".", O_PATH | O_DIRECTORY);
  if (!opened && opened.error().sys == ENOSYS) {
    findings.bad("kernel", text + " has no openat2; framefs needs Linux 5.6 or later");
  } else {
    findings.ok("kernel", text);
  }
}

void add_device(Findings& findings) {
  const fs::UniqueFd device(::open("/dev/fuse", O_RDWR | O_CLOEXEC));
  if (device) return findings.ok("/dev/fuse", "can be opened");
  const int error = errno;
  const auto* const remedy = error == ENOENT || error == ENODEV
                                 ? "modprobe fuse, or --device /dev/fuse for a container"
                                 : "its mode must be 666, and a container needs --device /dev/fuse";
  findings.bad("/dev/fuse", fmt::format("{}; {}", message_of(error), remedy));
}

// The program that posix_spawnp(3) would find.
std::optional<std::string> find_program(const std::string& name) {
  const char* const path = std::getenv("PATH");
  std::istringstream folders(path != nullptr ? path : "/usr/bin:/bin");
  for (std::string folder; std::getline(folders, folder, ':');) {
    const auto file = folder + "/" + name;
    if (::access(file.c_str(), X_OK) == 0) return file;
  }
  return std::nullopt;
}

void add_right_to_mount(Findings& findings) {
  const auto helper = find_program("fusermount3");
  struct stat st{};
  const bool is_setuid =
      helper && ::stat(helper->c_str(), &st) == 0 && st.st_uid == 0 && (st.st_mode & S_ISUID) != 0;
  const std::string topic = "fusermount3";
  if (may_mount_as_root()) {
    if (helper) return findings.ok(topic, *helper + "; root mounts without it");
    return findings.note(topic, "not in PATH; only root can mount; the package fuse3 has it");
  }
  if (::geteuid() == 0) {
    return findings.bad(topic,
                        "this root may not mount (no CAP_SYS_ADMIN): start the container with "
                        "--cap-add SYS_ADMIN, or pass an open mount as MOUNTPOINT /dev/fd/N");
  }
  if (!helper)
    return findings.bad(topic, "not in PATH; install the package fuse3, or mount as root");
  if (!is_setuid) {
    return findings.bad(topic,
                        *helper + " is not setuid root; chmod u+s it as root, or mount as root");
  }
  findings.ok(topic, *helper + ", setuid root");
}

void add_allow_other(Findings& findings) {
  if (::geteuid() == 0) return findings.ok("--allow-other", "root may give it");
  if (allows_others(text_of_file("/etc/fuse.conf"))) {
    return findings.ok("--allow-other", "/etc/fuse.conf has user_allow_other");
  }
  findings.note("--allow-other",
                "refused; root can add the line user_allow_other to /etc/fuse.conf");
}

void add_sandbox(Findings& findings) {
  if (!fuse::has_sandbox()) return findings.note("sandbox", "this program was built without it");
  const auto support = fuse::sandbox_support();
  if (support.landlock) {
    findings.ok("Landlock", fmt::format("version {}", *support.landlock));
  } else {
    findings.note("Landlock", fmt::format("{}; the daemon's files are not restricted; Linux 5.19 "
                                          "or later with landlock in lsm= has it",
                                          fs::describe(support.landlock.error())));
  }
  if (support.system_calls) {
    findings.ok("seccomp", "libseccomp " + support.libseccomp);
  } else {
    findings.note("seccomp", fmt::format("{}; the daemon's system calls are not restricted",
                                         fs::describe(support.system_calls.error())));
  }
}

void add_passthrough(Findings& findings) {
  const std::string topic = "passthrough";
  if (!fuse::libfuse_support().passthrough) {
    findings.note(topic,
                  "this program was built with libfuse before 3.17; the daemon reads plain "
                  "files itself");
  } else if (!may_mount_as_root()) {
    findings.note(topic, "needs root; the daemon reads plain files itself");
  } else {
    findings.ok(topic, "if the kernel has it (Linux 6.9)");
  }
}

void add_inotify(Findings& findings) {
  const std::string folder = "/proc/sys/fs/inotify/";
  const auto watches = text_of_file(folder + "max_user_watches");
  const auto instances = text_of_file(folder + "max_user_instances");
  if (watches.empty() || instances.empty()) {
    return findings.note("inotify", "not in this kernel; absent names cost a request each time");
  }
  findings.ok("inotify", fmt::format("{} watches for each user, {} instances; each writable mount "
                                     "takes one instance, and a watch for each directory in use",
                                     watches, instances));
}

void add_memory(Findings& findings) {
  const auto limit = fs::memory_limit();
  const auto buffer = size_for_people(fs::default_buffer_bytes(limit));
  findings.ok("memory", fmt::format("{} for this process; by default a cache of {} for each mount, "
                                    "and as much for written data",
                                    size_for_people(limit), buffer));
}

}  // namespace

bool allows_others(const std::string& fuse_conf) {
  std::istringstream lines(fuse_conf);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line.substr(0, line.find('#')));
    std::string word;
    std::string more;
    if (words >> word && word == "user_allow_other" && !(words >> more)) return true;
  }
  return false;
}

Findings machine_findings() {
  Findings findings;
  add_kernel(findings);
  findings.ok("libraries", fmt::format("{}", fmt::join(library_versions(), ", ")));
  add_device(findings);
  add_right_to_mount(findings);
  add_allow_other(findings);
  add_sandbox(findings);
  add_passthrough(findings);
  add_inotify(findings);
  findings.ok("CPU", "loops for " + cpu_loops());
  findings.ok("formats", fmt::format("{}", fmt::join(format_features(), ", ")));
  add_memory(findings);
  return findings;
}

}  // namespace framefs
