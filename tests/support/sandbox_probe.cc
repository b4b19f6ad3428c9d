// Enters the sandbox of a mount, then makes calls that the sandbox forbids and calls that it
// allows.
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
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <string>
#include <thread>

#include "fs/core/error_map.h"
#include "fs/fuse/sandbox.h"
#include "fs/fuse/watchdog.h"

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
  report_file("have a mount made", watchdog.mount());
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
  framefs::fs::MountOptions options;
  options.source = argv[1];
  const std::string mode = argv[2];
  const UniqueFd folder(::open(argv[1], O_PATH | O_DIRECTORY | O_CLOEXEC));
  const auto needs = mode == "remote" ? framefs::fuse::remote_sandbox_needs(folder.get())
                                      : framefs::fuse::sandbox_needs(options, mode == "ro");
  if (!needs) {
    std::printf("%s\n", framefs::fs::describe(needs.error()).c_str());
    return 1;
  }
  const auto watchdog = framefs::fuse::Watchdog::start({});
  if (!watchdog) return 1;
  watchdog->keep_file(std::string(argv[1]) + "/file");
  watchdog->keep_program("printf first");
  std::printf("%s\n", framefs::fuse::enter_sandbox(*needs, *watchdog).c_str());
  std::fflush(stdout);
  try_watchdog(*watchdog, argv[1], argv[3]);
  try_all(argv[1], argv[3]);
  try_signals(watchdog->pid());
  return 0;
}
