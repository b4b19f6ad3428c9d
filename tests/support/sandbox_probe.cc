// Enters the namespace and the sandbox of a mount, as its daemon does, then makes calls that the
// sandbox forbids and calls that it allows.
//
//   framefs_sandbox_probe SOURCE ro|rw|remote OUTSIDE
//
// With "remote", the sandbox is that of a URL, and SOURCE is the folder of its disk cache.  OUTSIDE
// is a file beside SOURCE.  Prints one line for each call: its name, and "done" or the errno's
// name; for a request to the watchdog, "done" or "refused".

#include <fcntl.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <optional>
#include <string>
#include <thread>

#include "fs/core/diagnostics/error_map.h"
#include "fs/fuse/confine/own_namespace.h"
#include "fs/fuse/confine/sandbox.h"
#include "fs/fuse/confine/watchdog.h"

namespace {

using framefs::fs::UniqueFd;

void report(const char* deed, long result) {
  std::printf("%s: %s\n", deed, result >= 0 ? "done" : ::strerrorname_np(errno));
}

void open_file(const char* deed, const std::string& path, int flags) {
  const UniqueFd file(::open(path.c_str(), flags | O_CLOEXEC, 0600));
  report(deed, file.get());
}

void report_file(const char* deed, const framefs::codec::Result<UniqueFd>& file) {
  std::printf("%s: %s\n", deed, file ? "done" : "refused");
}

void try_watchdog(const framefs::fuse::Watchdog& watchdog, const std::string& source,
                  const std::string& outside) {
  report_file("have a file opened", watchdog.open_file(source + "/file"));
  report_file("have a program run", watchdog.start_program());
  // Announcements that come too late.
  watchdog.keep_file(outside);
  report_file("have another file opened", watchdog.open_file(outside));
  watchdog.keep_log_path(outside + "-new");
  report_file("have another log opened", watchdog.open_log());
  watchdog.keep_mount("ro,subtype=framefs");
  std::printf("have a mount made: %s\n", watchdog.mount() ? "done" : "refused");
  watchdog.keep_program("echo changed >'" + outside + "'");
  const auto output = watchdog.start_program();
  char text[16] = {};
  const auto size = output ? ::read(output->get(), text, sizeof(text) - 1) : 0;
  const bool is_announced = size == 5 && std::string(text) == "first";
  std::printf("have another program run: %s\n", is_announced ? "refused" : "done");
}

void try_all(const std::string& source, const std::string& outside) {
  open_file("read inside", source + "/file", O_RDONLY);
  open_file("create inside", source + "/new", O_WRONLY | O_CREAT);
  report("rename inside", ::rename((source + "/new").c_str(), (source + "/below/new").c_str()));
  report("truncate inside", ::truncate((source + "/file").c_str(), 1));
  open_file("read outside", outside, O_RDONLY);
  open_file("write outside", outside, O_WRONLY);
  open_file("create outside", outside + "-new", O_WRONLY | O_CREAT);
  open_file("write a setting of the kernel", "/proc/sys/kernel/hostname", O_WRONLY);
  open_file("read own state", "/proc/self/status", O_RDONLY);
  open_file("read the names of hosts", "/etc/hosts", O_RDONLY);
  open_file("read a secret of the system", "/etc/shadow", O_RDONLY);
  report("link inside", ::symlink("file", (source + "/link").c_str()));
  report("remove inside", ::unlink((source + "/file").c_str()));
  char* const none[] = {nullptr};
  report("run a program", ::execve("/bin/true", none, none));
  report("fork", ::fork());
  report("mount", ::mount("none", source.c_str(), "tmpfs", 0, nullptr));
  report("unmount", ::umount2(source.c_str(), MNT_DETACH));
  report("namespace", ::unshare(CLONE_NEWUSER));
  report("trace", ::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr));
  report("reach the network", ::socket(AF_INET, SOCK_STREAM, 0));
  report("talk to a local service", ::socket(AF_UNIX, SOCK_STREAM, 0));
  report("write to syslog", ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  report("change a mode outside", ::chmod(outside.c_str(), 0600));
  report("send packets", ::socket(AF_PACKET, SOCK_DGRAM, 0));
  report("use another protocol", ::socket(AF_INET, SOCK_STREAM, IPPROTO_SCTP));
  report("wait for connections", ::listen(0, 1));
  report("become another user", ::setuid(1));
  report("load a program into the kernel", ::syscall(SYS_bpf, 0, nullptr, 0));
  std::thread([] { open_file("thread: read own state", "/proc/self/status", O_RDONLY); }).join();
  std::thread([&] { open_file("thread: read outside", outside, O_RDONLY); }).join();
}

// The attempts of a root daemon that was taken over to reach files outside SOURCE.
void try_escapes(const std::string& source, const std::string& outside) {
  const auto* const path = outside.c_str();
  const auto device = source + "/device";
  report("escape: chmod", ::chmod(path, 04777));
  report("escape: lchown", ::lchown(path, 1000, 1000));
  report("escape: setxattr", ::setxattr(path, "user.x", "1", 1, 0));
  report("escape: utimensat", ::utimensat(AT_FDCWD, path, nullptr, 0));
  report("escape: utimensat of a link", ::utimensat(AT_FDCWD, path, nullptr, AT_SYMLINK_NOFOLLOW));
  report("escape: setxattr of a link", ::lsetxattr(path, "user.x", "1", 1, 0));
  report("escape: removexattr", ::removexattr(path, "user.x"));
  report("escape: statistics", ::access(path, F_OK));
  report("escape: truncate", ::truncate(path, 0));
  report("escape: rename", ::rename(path, (outside + "-moved").c_str()));
  report("escape: unlink", ::unlink(path));
  report("escape: link in", ::link(path, (source + "/stolen").c_str()));
  report("escape: rename in", ::rename(path, (source + "/stolen").c_str()));
  report("escape: rename out", ::rename((source + "/file").c_str(), (outside + "-new").c_str()));
  report("escape: symlink", ::symlink("file", (outside + "-new").c_str()));
  report("escape: mkdir", ::mkdir((outside + "-new").c_str(), 0755));
  report("escape: mknod outside", ::mknod((outside + "-new").c_str(), S_IFREG | 0600, 0));
  open_file("escape: O_PATH", outside, O_PATH);
  open_file("escape: through the own root", "/proc/self/root" + outside, O_PATH);
  open_file("escape: through the root of init", "/proc/1/root" + outside, O_PATH);
  open_file("escape: through the parent's root",
            "/proc/" + std::to_string(::getppid()) + "/root" + outside, O_PATH);
  // Through a link of SOURCE.
  const auto link = source + "/way-out";
  report("inside: symlink", ::symlink(path, link.c_str()));
  report("escape: chmod through a link", ::chmod(link.c_str(), 04777));
  report("escape: chown through a link", ::chown(link.c_str(), 1000, 1000));
  report("escape: setxattr through a link", ::setxattr(link.c_str(), "user.x", "1", 1, 0));
  report("escape: times through a link", ::utimensat(AT_FDCWD, link.c_str(), nullptr, 0));
  report("escape: truncate through a link", ::truncate(link.c_str(), 0));
  // Through a thread's view of the parent, and the directories that it holds.
  const auto parent = "/proc/" + std::to_string(::getppid());
  report("escape: chmod through the parent's root",
         ::chmod((parent + "/root" + outside).c_str(), 04777));
  report("escape: chmod through the parent's directory", ::chmod((parent + "/cwd").c_str(), 04777));
  open_file("escape: the memory of the parent", parent + "/mem", O_RDWR);
  open_file("escape: the mounts of the parent", parent + "/ns/mnt", O_RDONLY);
  open_file("escape: the environment of init", "/proc/1/environ", O_RDONLY);
  open_file("escape: a pattern of the kernel", "/proc/sys/kernel/core_pattern", O_WRONLY);
  report("escape: mode of a setting", ::chmod("/proc/sys/kernel/core_pattern", 0666));
  report("escape: mode of the libraries", ::chmod("/usr/lib", 0777));
  report("escape: owner of the null device", ::lchown("/dev/null", 1000, 1000));
  report("escape: mknod of a character device",
         ::mknod((source + "/memory").c_str(), S_IFCHR | 0600, makedev(1, 1)));
  report("escape: mknod", ::mknod(device.c_str(), S_IFBLK | 0600, makedev(7, 0)));
  open_file("escape: open a device", device, O_RDONLY);
  const UniqueFd root(::open("/", O_PATH | O_DIRECTORY | O_CLOEXEC));
  report("escape: mkdir in the root", ::mkdirat(root.get(), "new", 0755));
  report("escape: chroot", ::chroot(source.c_str()));
  report("escape: return to a namespace", ::setns(root.get(), CLONE_NEWNS));
  report("escape: copy the mounts", ::syscall(SYS_open_tree, AT_FDCWD, "/", OPEN_TREE_CLONE));
  // SOURCE's ".." as far as it leads.
  const UniqueFd inside(::open(source.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  open_file("escape: far above SOURCE",
            "/proc/self/fd/" + std::to_string(inside.get()) + "/../../../../../../.." + outside,
            O_PATH);
  for (int fd = 3; fd < 256; ++fd) {
    if (::fcntl(fd, F_GETFD) < 0) continue;
    const UniqueFd above(::openat(fd, ("../../../../../../.." + outside).c_str(), O_PATH));
    if (above) report("escape: by a descriptor", 0);
  }
}

// Attributes of files in SOURCE, by path and by descriptor.
void try_attributes(const std::string& source) {
  const auto below = source + "/below";
  const UniqueFd fd(::open(below.c_str(), O_RDONLY | O_CLOEXEC));
  report("inside: chmod", ::chmod(below.c_str(), 0755));
  report("inside: fchmod", ::fchmod(fd.get(), 0755));
  report("inside: fchown", ::fchown(fd.get(), 0, 0));
  report("inside: fsetxattr", ::fsetxattr(fd.get(), "user.x", "1", 1, 0));
  report("inside: futimens", ::futimens(fd.get(), nullptr));
}

// Signal 0 only asks whether the signal is allowed.
void try_signals(pid_t watchdog) {
  report("signal itself", ::kill(::getpid(), 0));
  report("signal a thread of its own", ::raise(0));
  report("end the watchdog", ::kill(watchdog, 0));
  const auto other = ::getppid();
  report("signal another process", ::kill(other, 0));
  report("signal a group", ::kill(-other, 0));
  report("signal a thread of another process", ::syscall(SYS_tgkill, other, other, 0));
  report("have another process signalled", ::fcntl(0, F_SETOWN, other));
  rlimit limit{};
  report("see its own limits", ::getrlimit(RLIMIT_NOFILE, &limit));
  report("see the limits of another process", ::prlimit(other, RLIMIT_NOFILE, nullptr, &limit));
}

}  // namespace

int main(int argc, char** argv) {
  if (framefs::fuse::is_watchdog(argv[0])) return framefs::fuse::run_watchdog();
  if (argc != 4) return 2;
  const std::string mode = argv[2];
  const bool is_remote = mode == "remote";
  const UniqueFd folder(is_remote ? ::open(argv[1], O_PATH | O_DIRECTORY | O_CLOEXEC) : -1);
  const auto watchdog = framefs::fuse::Watchdog::start({});
  if (!watchdog) return 1;
  framefs::fuse::Surroundings surroundings{argv[1], {}};
  if (!is_remote && ::geteuid() == 0) {
    const auto own = framefs::fuse::OwnNamespace::enter(argv[1], mode == "ro");
    if (own) {
      surroundings = {own->source(), framefs::codec::Status{}};
    } else {
      surroundings.own_namespace = std::unexpected(own.error());
    }
  }
  const auto source = surroundings.source.string();
  auto needs = is_remote ? framefs::fuse::remote_sandbox_needs(folder.get())
                         : framefs::fuse::sandbox_needs(surroundings, mode == "ro", false);
  if (!needs) {
    std::printf("%s\n", framefs::fs::describe(needs.error()).c_str());
    return 1;
  }
  watchdog->keep_file(std::string(argv[1]) + "/file");
  watchdog->keep_program("printf first");
  std::printf("%s\n", framefs::fuse::enter_sandbox(*needs, *watchdog).c_str());
  std::fflush(stdout);
  try_watchdog(*watchdog, argv[1], argv[3]);
  if (surroundings.is_apart()) {
    try_escapes(source, argv[3]);
    try_attributes(source);
  }
  try_all(source, argv[3]);
  try_signals(watchdog->pid());
  return 0;
}
