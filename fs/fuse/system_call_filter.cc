#include "fs/fuse/system_call_filter.h"

#include <sched.h>
#include <seccomp.h>
#include <sys/socket.h>

#include <cerrno>
#include <memory>

#include "fs/core/file.h"

namespace framefs::fuse {
namespace {

using codec::Status;

// Names, not numbers: a name that the architecture or libseccomp does not know is skipped.
constexpr const char* kAllowed[] = {
    // Files.
    "access",
    "chdir",
    "chmod",
    "chown",
    "close",
    "close_range",
    "copy_file_range",
    "dup",
    "dup2",
    "dup3",
    "faccessat",
    "faccessat2",
    "fadvise64",
    "fallocate",
    "fchdir",
    "fchmod",
    "fchmodat",
    "fchmodat2",
    "fchown",
    "fchownat",
    "fcntl",
    "fdatasync",
    "fgetxattr",
    "flistxattr",
    "flock",
    "fremovexattr",
    "fsetxattr",
    "fstat",
    "fstatfs",
    "fsync",
    "ftruncate",
    "getcwd",
    "getdents64",
    "getxattr",
    "getxattrat",
    "inotify_add_watch",
    "inotify_init1",
    "inotify_rm_watch",
    "ioctl",
    "lchown",
    "lgetxattr",
    "link",
    "linkat",
    "listxattr",
    "listxattrat",
    "llistxattr",
    "lremovexattr",
    "lseek",
    "lsetxattr",
    "lstat",
    "mkdir",
    "mkdirat",
    "mknod",
    "mknodat",
    "name_to_handle_at",
    "newfstatat",
    "open",
    "openat",
    "openat2",
    "pipe",
    "pipe2",
    "pread64",
    "preadv",
    "preadv2",
    "pwrite64",
    "pwritev",
    "pwritev2",
    "read",
    "readahead",
    "readlink",
    "readlinkat",
    "readv",
    "removexattr",
    "removexattrat",
    "rename",
    "renameat",
    "renameat2",
    "rmdir",
    "sendfile",
    "setxattr",
    "setxattrat",
    "splice",
    "stat",
    "statfs",
    "statx",
    "symlink",
    "symlinkat",
    "sync_file_range",
    "syncfs",
    "tee",
    "truncate",
    "umask",
    "unlink",
    "unlinkat",
    "utimensat",
    "vmsplice",
    "write",
    "writev",
    // Memory.
    "brk",
    "madvise",
    "mincore",
    "mmap",
    "mprotect",
    "mremap",
    "msync",
    "munmap",
    "membarrier",
    // Threads, signals and time.
    "clock_getres",
    "clock_gettime",
    "clock_nanosleep",
    "exit",
    "exit_group",
    "futex",
    "futex_waitv",
    "futex_wait",
    "futex_wake",
    "get_robust_list",
    "getcpu",
    "getpriority",
    "getrandom",
    "getrusage",
    "gettid",
    "gettimeofday",
    "kill",
    "nanosleep",
    "prctl",
    "prlimit64",
    "restart_syscall",
    "rseq",
    "rt_sigaction",
    "rt_sigpending",
    "rt_sigprocmask",
    "rt_sigreturn",
    "rt_sigtimedwait",
    "sched_getaffinity",
    "sched_getparam",
    "sched_getscheduler",
    "sched_setaffinity",
    "sched_yield",
    "set_robust_list",
    "set_tid_address",
    "setpriority",
    "sigaltstack",
    "sysinfo",
    "tgkill",
    "time",
    "times",
    "uname",
    "wait4",
    "waitid",
    // Identity of the process.
    "capget",
    "getegid",
    "geteuid",
    "getgid",
    "getgroups",
    "getpgrp",
    "getpid",
    "getppid",
    "getresgid",
    "getresuid",
    "getrlimit",
    "getsid",
    "getuid",
    // Waiting for descriptors.  The watchdog and syslog, which are reached by local sockets.
    "connect",
    "epoll_create1",
    "epoll_ctl",
    "epoll_pwait",
    "epoll_wait",
    "eventfd2",
    "getpeername",
    "getsockname",
    "getsockopt",
    "poll",
    "ppoll",
    "pselect6",
    "recvfrom",
    "recvmsg",
    "select",
    "sendmsg",
    "sendto",
    "setsockopt",
    "shutdown",
};
constexpr const char* kIoUring[] = {"io_uring_enter", "io_uring_register", "io_uring_setup"};

struct Release {
  void operator()(scmp_filter_ctx filter) const { seccomp_release(filter); }
};

Status checked(int result) {
  if (result < 0) return fs::system_error_of(-result, "seccomp");
  return {};
}

Status allow(scmp_filter_ctx filter, const char* name) {
  const int call = seccomp_syscall_resolve_name(name);
  if (call < 0) return {};  // unknown here
  return checked(seccomp_rule_add(filter, SCMP_ACT_ALLOW, call, 0));
}

Status allow_some(scmp_filter_ctx filter) {
  // Threads are allowed; processes and namespaces are not. The arguments of clone3() lie in memory,
  // which a filter cannot read. It is therefore refused, and the C library falls back to clone().
  constexpr scmp_datum_t kThread = CLONE_THREAD;
  FRAMEFS_CHECK(checked(seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(clone), 1,
                                         SCMP_A0(SCMP_CMP_MASKED_EQ, kThread, kThread))));
  for (const auto call : {SCMP_SYS(socket), SCMP_SYS(socketpair)}) {
    FRAMEFS_CHECK(checked(seccomp_rule_add(filter, SCMP_ACT_ALLOW, call, 1,
                                           SCMP_A0(SCMP_CMP_EQ, scmp_datum_t{AF_UNIX}))));
  }
  return {};
}

}  // namespace

Status filter_system_calls(bool with_io_uring) {
  const std::unique_ptr<void, Release> filter(seccomp_init(SCMP_ACT_ERRNO(ENOSYS)));
  if (!filter) return fs::system_error_of(ENOMEM, "seccomp");
  // Older kernels cannot log; the filter still works.
  static_cast<void>(seccomp_attr_set(filter.get(), SCMP_FLTATR_CTL_LOG, 1));
  FRAMEFS_CHECK(checked(seccomp_attr_set(filter.get(), SCMP_FLTATR_CTL_NNP, 0)));
  // A binary tree instead of a list, because each request makes several system calls.
  static_cast<void>(seccomp_attr_set(filter.get(), SCMP_FLTATR_CTL_OPTIMIZE, 2));
  for (const auto* const name : kAllowed) FRAMEFS_CHECK(allow(filter.get(), name));
  if (with_io_uring) {
    for (const auto* const name : kIoUring) FRAMEFS_CHECK(allow(filter.get(), name));
  }
  FRAMEFS_CHECK(allow_some(filter.get()));
  return checked(seccomp_load(filter.get()));
}

}  // namespace framefs::fuse
