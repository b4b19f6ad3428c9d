// Enters the sandbox of a mount, then makes calls that the sandbox forbids and calls that it
// allows.
//
//   framefs_sandbox_probe SOURCE ro|rw OUTSIDE
//
// OUTSIDE is a file beside SOURCE.  Prints one line for each call: its name, and "done" or the
// errno's name.

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/ptrace.h>
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

namespace {

using framefs::fs::UniqueFd;

void report(const char* deed, long result) {
  std::printf("%s: %s\n", deed, result >= 0 ? "done" : ::strerrorname_np(errno));
}

void open_file(const char* deed, const std::string& path, int flags) {
  const UniqueFd file(::open(path.c_str(), flags | O_CLOEXEC, 0600));
  report(deed, file.get());
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
  char* const none[] = {nullptr};
  report("run a program", ::execve("/bin/true", none, none));
  report("fork", ::fork());
  report("mount", ::mount("none", source.c_str(), "tmpfs", 0, nullptr));
  report("unmount", ::umount2(source.c_str(), MNT_DETACH));
  report("namespace", ::unshare(CLONE_NEWUSER));
  report("trace", ::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr));
  report("reach the network", ::socket(AF_INET, SOCK_STREAM, 0));
  report("become another user", ::setuid(1));
  report("load a program into the kernel", ::syscall(SYS_bpf, 0, nullptr, 0));
  std::thread([] { open_file("thread: read own state", "/proc/self/status", O_RDONLY); }).join();
  std::thread([&] { open_file("thread: read outside", outside, O_RDONLY); }).join();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  framefs::fs::MountOptions options;
  options.source = argv[1];
  const auto needs = framefs::fuse::sandbox_needs(options, std::string(argv[2]) == "ro");
  if (!needs) {
    std::printf("%s\n", framefs::fs::describe(needs.error()).c_str());
    return 1;
  }
  std::printf("%s\n", framefs::fuse::enter_sandbox(*needs).c_str());
  try_all(argv[1], argv[3]);
  return 0;
}
