#include "fs/fuse/confine/allowed_calls.h"

#include <seccomp.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/support/catch.h"

namespace framefs::fuse::allowed_calls_test {
namespace {

// On arm64, which lacks the calls on the left, the C library makes those on the right.
// Source: kernel, include/uapi/asm-generic/unistd.h.
constexpr std::array kInPlaceOf = std::to_array<std::pair<std::string_view, std::string_view>>({
    {"access", "faccessat"},
    {"chmod", "fchmodat"},
    {"chown", "fchownat"},
    {"dup2", "dup3"},
    {"epoll_wait", "epoll_pwait"},
    {"getpgrp", "getpgid"},
    {"lchown", "fchownat"},
    {"link", "linkat"},
    {"lstat", "newfstatat"},
    {"mkdir", "mkdirat"},
    {"mknod", "mknodat"},
    {"open", "openat"},
    {"pipe", "pipe2"},
    {"poll", "ppoll"},
    {"readlink", "readlinkat"},
    {"rename", "renameat"},
    {"rmdir", "unlinkat"},
    {"select", "pselect6"},
    {"stat", "newfstatat"},
    {"symlink", "symlinkat"},
    {"time", "clock_gettime"},
    {"unlink", "unlinkat"},
});

// Calls that are newer than some releases of libseccomp.
constexpr std::array<std::string_view, 8> kNew = {"fchmodat2",     "futex_wait", "futex_waitv",
                                                  "futex_wake",    "getxattrat", "listxattrat",
                                                  "removexattrat", "setxattrat"};

std::vector<std::string> all_names() {
  std::vector<std::string> names;
  for (const auto calls : {common_calls(), local_file_calls(), network_calls()}) {
    names.insert(names.end(), calls.begin(), calls.end());
  }
  return names;
}

bool exists(std::uint32_t architecture, const std::string& name) {
  return seccomp_syscall_resolve_name_arch(architecture, name.c_str()) >= 0;
}

// Oracle: libseccomp's table of the system calls of all architectures.
TEST_CASE("allowed_calls: each name is that of a system call", "[fs][fuse][unit]") {
  for (const auto& name : all_names()) {
    CAPTURE(name);
    const bool is_known = seccomp_syscall_resolve_name(name.c_str()) != __NR_SCMP_ERROR;
    CHECK((is_known || std::ranges::find(kNew, name) != kNew.end()));
  }
}

// Oracle: libseccomp's tables of both architectures.
TEST_CASE("allowed_calls: a call that arm64 lacks stands beside the one that arm64 has",
          "[fs][fuse][unit]") {
  const auto names = all_names();
  std::vector<std::string_view> missing;
  for (const auto& name : names) {
    if (!exists(SCMP_ARCH_X86_64, name) || exists(SCMP_ARCH_AARCH64, name)) continue;
    missing.emplace_back(name);
    CAPTURE(name);
    const auto found =
        std::ranges::find(kInPlaceOf, name, [](const auto& pair) { return pair.first; });
    REQUIRE(found != kInPlaceOf.end());
    const std::string there(found->second);
    CHECK(std::ranges::find(names, there) != names.end());
    CHECK(exists(SCMP_ARCH_AARCH64, there));
  }
  CHECK(missing.size() == kInPlaceOf.size());
}

// Oracle: clone(2), "C library/kernel differences".
TEST_CASE("allowed_calls: the flags of clone(2) stand where the architecture has them",
          "[fs][fuse][unit]") {
  CHECK(position_of_clone_flags(SCMP_ARCH_X86_64) == 0);
  CHECK(position_of_clone_flags(SCMP_ARCH_AARCH64) == 0);
  CHECK(position_of_clone_flags(SCMP_ARCH_S390X) == 1);
}

}  // namespace
}  // namespace framefs::fuse::allowed_calls_test
