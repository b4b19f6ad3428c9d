#include "fs/fuse/confine/system_call_filter.h"

#include <fcntl.h>
#include <linux/dqblk_xfs.h>
#include <linux/netlink.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <sched.h>
#include <seccomp.h>
#include <sys/quota.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>

#include <fmt/core.h>

#include "fs/core/files/file.h"
#include "fs/fuse/confine/allowed_calls.h"

namespace framefs::fuse {
namespace {

using codec::Status;

struct Release {
  void operator()(scmp_filter_ctx filter) const { seccomp_release(filter); }
};

Status checked(int result) {
  if (result < 0) return fs::system_error_of(-result, "seccomp");
  return {};
}

Status allow(scmp_filter_ctx filter, const char* name) {
  const int call = seccomp_syscall_resolve_name(name);
  if (call < 0) return {};  // unknown to the architecture or to libseccomp
  return checked(seccomp_rule_add(filter, SCMP_ACT_ALLOW, call, 0));
}

Status allow_all(scmp_filter_ctx filter, std::span<const char* const> names) {
  for (const auto* const name : names) FRAMEFS_CHECK(allow(filter, name));
  return {};
}

// A condition for an argument of a system call.  The macros of libseccomp are made for C.
scmp_arg_cmp argument(unsigned number, scmp_compare how, scmp_datum_t first,
                      scmp_datum_t second = 0) {
  return {.arg = number, .op = how, .datum_a = first, .datum_b = second};
}

// Allows a call if all conditions on its arguments hold.
Status allow_if(scmp_filter_ctx filter, int call, std::initializer_list<scmp_arg_cmp> conditions) {
  return checked(seccomp_rule_add_array(
      filter, SCMP_ACT_ALLOW, call, static_cast<unsigned>(conditions.size()), conditions.begin()));
}

Status allow_some(scmp_filter_ctx filter) {
  // Threads are allowed; processes and namespaces are not. The arguments of clone3() lie in memory,
  // which a filter cannot read. It is therefore refused, and the C library falls back to clone().
  constexpr scmp_datum_t kThread = CLONE_THREAD;
  const unsigned flags = position_of_clone_flags(seccomp_arch_native());
  FRAMEFS_CHECK(
      allow_if(filter, SCMP_SYS(clone), {argument(flags, SCMP_CMP_MASKED_EQ, kThread, kThread)}));
  constexpr scmp_datum_t kLocal = AF_UNIX;
  FRAMEFS_CHECK(allow_if(filter, SCMP_SYS(socketpair), {argument(0, SCMP_CMP_EQ, kLocal)}));
  // Syslog and the service manager take datagrams.  Through a stream, a daemon of root that was
  // taken over could command the service manager or a container engine; Landlock does not restrict
  // connect(2).
  constexpr scmp_datum_t kTypeMask = 0xf;  // the flags are above
  constexpr scmp_datum_t kDatagrams = SOCK_DGRAM;
  FRAMEFS_CHECK(allow_if(
      filter, SCMP_SYS(socket),
      {argument(0, SCMP_CMP_EQ, kLocal), argument(1, SCMP_CMP_MASKED_EQ, kTypeMask, kDatagrams)}));
  // Limits of this process only.
  return allow_if(filter, SCMP_SYS(prlimit64), {argument(0, SCMP_CMP_EQ, 0)});
}

// Questions about the quotas of SOURCE.
Status allow_quota_state(scmp_filter_ctx filter) {
  const int call = seccomp_syscall_resolve_name("quotactl_fd");
  if (call < 0) return {};  // unknown here
  constexpr scmp_datum_t kState = static_cast<unsigned>(QCMD(Q_XGETQSTAT, USRQUOTA));
  return allow_if(filter, call, {argument(1, SCMP_CMP_EQ, kState)});
}

// Signals to this process and to the watchdog, which the daemon ends.  Other processes of the same
// user, or of all users for a daemon of root, get none, neither directly nor as the owners of a
// descriptor's signals.
Status allow_own_signals(scmp_filter_ctx filter, pid_t watchdog) {
  const auto own = static_cast<scmp_datum_t>(::getpid());
  for (const auto process : {own, static_cast<scmp_datum_t>(watchdog)}) {
    FRAMEFS_CHECK(allow_if(filter, SCMP_SYS(kill), {argument(0, SCMP_CMP_EQ, process)}));
  }
  FRAMEFS_CHECK(allow_if(filter, SCMP_SYS(tgkill), {argument(0, SCMP_CMP_EQ, own)}));
  // The commands between these set and tell the owner of signals, and which signal it gets.
  FRAMEFS_CHECK(allow_if(filter, SCMP_SYS(fcntl), {argument(1, SCMP_CMP_LT, F_SETOWN)}));
  return allow_if(filter, SCMP_SYS(fcntl), {argument(1, SCMP_CMP_GT, F_GETOWN_EX)});
}

// Sockets of TCP and UDP, and the one by which the resolver asks for the addresses of this machine.
Status allow_network(scmp_filter_ctx filter) {
  struct Kind {
    int family;
    int protocol;
  };
  constexpr std::array kKinds = {Kind{AF_INET, 0},
                                 Kind{AF_INET, IPPROTO_TCP},
                                 Kind{AF_INET, IPPROTO_UDP},
                                 Kind{AF_INET6, 0},
                                 Kind{AF_INET6, IPPROTO_TCP},
                                 Kind{AF_INET6, IPPROTO_UDP},
                                 Kind{AF_NETLINK, NETLINK_ROUTE}};
  for (const auto& [family, protocol] : kKinds) {
    FRAMEFS_CHECK(allow_if(filter, SCMP_SYS(socket),
                           {argument(0, SCMP_CMP_EQ, static_cast<scmp_datum_t>(family)),
                            argument(2, SCMP_CMP_EQ, static_cast<scmp_datum_t>(protocol))}));
  }
  return allow_all(filter, network_calls());
}

}  // namespace

Status filter_system_calls(const CallNeeds& needs) {
  const std::unique_ptr<void, Release> filter(seccomp_init(SCMP_ACT_ERRNO(ENOSYS)));
  if (!filter) return fs::system_error_of(ENOMEM, "seccomp");
  // Older kernels cannot log; the filter still works.
  static_cast<void>(seccomp_attr_set(filter.get(), SCMP_FLTATR_CTL_LOG, 1));
  FRAMEFS_CHECK(checked(seccomp_attr_set(filter.get(), SCMP_FLTATR_CTL_NNP, 0)));
  // A binary tree instead of a list, because each request makes several system calls.
  static_cast<void>(seccomp_attr_set(filter.get(), SCMP_FLTATR_CTL_OPTIMIZE, 2));
  FRAMEFS_CHECK(allow_all(filter.get(), common_calls()));
  if (needs.local_files) {
    FRAMEFS_CHECK(allow_all(filter.get(), local_file_calls()));
    FRAMEFS_CHECK(allow_quota_state(filter.get()));
  }
  if (needs.network) FRAMEFS_CHECK(allow_network(filter.get()));
  FRAMEFS_CHECK(allow_some(filter.get()));
  FRAMEFS_CHECK(allow_own_signals(filter.get(), needs.watchdog));
  return checked(seccomp_load(filter.get()));
}

Status can_filter_system_calls() {
  constexpr unsigned kNoFlags = 0;
  std::uint32_t action = SECCOMP_RET_ERRNO;
  if (::syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, kNoFlags, &action) == 0) return {};
  return fs::system_error("seccomp");
}

std::string libseccomp_version() {
  const auto* const version = ::seccomp_version();
  return fmt::format("{}.{}.{}", version->major, version->minor, version->micro);
}

}  // namespace framefs::fuse
