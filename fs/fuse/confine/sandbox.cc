#include "fs/fuse/confine/sandbox.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <ctime>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "fs/core/diagnostics/error_map.h"
#include "fs/fuse/confine/landlock.h"
#include "fs/fuse/confine/system_call_filter.h"
#include "fs/net/network_files.h"

namespace framefs::fuse {
namespace {

// A daemon reads and changes files on behalf of callers; the kernel has checked their rights.
std::vector<int> needed_capabilities(const SandboxNeeds& needs) {
  if (!needs.local_files) return {};
  if (needs.changes) {
    std::vector<int> all = {CAP_CHOWN, CAP_DAC_OVERRIDE, CAP_FOWNER, CAP_FSETID};
    if (needs.devices) all.push_back(CAP_MKNOD);
    return all;
  }
  // Without a mount that keeps no access times, each open must ask for it.
  const bool is_apart = needs.own_namespace && *needs.own_namespace;
  if (is_apart) return {CAP_DAC_READ_SEARCH};
  return {CAP_DAC_READ_SEARCH, CAP_FOWNER};
}

Status drop_capabilities(const SandboxNeeds& needs) {
  struct Sets {
    __user_cap_header_struct header{.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
    std::array<__user_cap_data_struct, _LINUX_CAPABILITY_U32S_3> data{};
  } sets;
  if (::syscall(SYS_capget, &sets.header, sets.data.data()) != 0) return fs::system_error("capget");
  std::array<std::uint32_t, _LINUX_CAPABILITY_U32S_3> kept{};
  for (const auto each : needed_capabilities(needs)) {
    const auto number = static_cast<std::uint32_t>(each);
    kept[number / 32] |= 1u << (number % 32);
  }
  // A process without the right cannot drop the bounding set; no_new_privs makes that set useless.
  for (int each = 0; ::prctl(PR_CAPBSET_READ, each) >= 0; ++each) ::prctl(PR_CAPBSET_DROP, each);
  ::prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
  for (std::size_t i = 0; i < kept.size(); ++i) {
    auto& set = sets.data[i];
    set.permitted &= kept[i];
    set.effective = set.permitted;
    set.inheritable = 0;
  }
  if (::syscall(SYS_capset, &sets.header, sets.data.data()) != 0) return fs::system_error("capset");
  return {};
}

Status forbid_dumps() {
  // Not 0: if core_pattern is a pipe, only a limit of 1 prevents a dump. Source: kernel,
  // do_coredump().
  constexpr rlimit kNone{.rlim_cur = 1, .rlim_max = 1};
  if (::setrlimit(RLIMIT_CORE, &kNone) != 0) return fs::system_error("RLIMIT_CORE");
  // An ordinary user may debug their own daemon; its memory holds only that user's data.
  if (::geteuid() == 0 && ::prctl(PR_SET_DUMPABLE, 0) != 0)
    return fs::system_error("PR_SET_DUMPABLE");
  return {};
}

Status confine_files(const SandboxNeeds& needs) {
  FRAMEFS_TRY(auto rules, Landlock::make());
  for (const auto& place : needs.places) {
    FRAMEFS_CHECK(rules.allow(place.fd.get(), place.access));
  }
  struct Place {
    const char* path;
    Landlock::Access access;
  };
  constexpr std::array kPlaces = {
      Place{"/proc", Landlock::Access::read},  // descriptors by path; states of callers
      Place{"/sys/devices/system/cpu", Landlock::Access::read},
      Place{"/sys/devices/system/node", Landlock::Access::read},
      Place{"/usr/lib", Landlock::Access::read},  // libraries that are loaded on demand
      Place{"/usr/lib64", Landlock::Access::read},
      Place{"/usr/share/zoneinfo", Landlock::Access::read},
      Place{"/dev/null", Landlock::Access::write_file}};
  for (const auto& [path, access] : kPlaces) {
    const fs::UniqueFd place(::open(path, O_PATH | O_CLOEXEC));
    if (place) FRAMEFS_CHECK(rules.allow(place.get(), access));
  }
  return rules.enforce();
}

class Report {
 public:
  void add(std::string_view what, const Status& done) {
    auto& text = done ? in_force_ : missing_;
    if (!text.empty()) text += ", ";
    text += what;
    if (!done) text += " (" + fs::describe(done.error()) + ")";
  }
  [[nodiscard]] std::string text() const {
    auto text = "sandbox: " + (in_force_.empty() ? std::string("nothing") : in_force_);
    if (!missing_.empty()) text += "; not in force: " + missing_;
    return text;
  }

 private:
  std::string in_force_;
  std::string missing_;
};

}  // namespace

Result<SandboxNeeds> sandbox_needs(const Surroundings& surroundings, bool read_only, bool devices) {
  std::error_code error;
  auto path = std::filesystem::canonical(surroundings.source, error);
  if (error) return fs::system_error_of(error.value(), "SOURCE");
  if (!std::filesystem::is_directory(path, error)) path = path.parent_path();
  fs::UniqueFd source(::open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!source) return fs::system_error("SOURCE");
  SandboxNeeds needs{.places = {},
                     .local_files = true,
                     .changes = !read_only,
                     .devices = devices,
                     .own_namespace = surroundings.own_namespace};
  needs.places.push_back(
      {std::move(source), read_only ? Landlock::Access::read : Landlock::Access::change});
  return needs;
}

Result<SandboxNeeds> remote_sandbox_needs(std::optional<int> cache_folder) {
  SandboxNeeds needs{.places = {}, .network = true, .own_namespace = {}};
  for (const auto& path : net::network_files()) {
    fs::UniqueFd place(::open(path.c_str(), O_PATH | O_CLOEXEC));
    if (place) needs.places.push_back({std::move(place), Landlock::Access::read});
  }
  if (cache_folder) {
    FRAMEFS_TRY(auto folder, fs::reopen(*cache_folder, O_PATH));
    needs.places.push_back({std::move(folder), Landlock::Access::keep_files});
  }
  return needs;
}

std::string enter_sandbox(const SandboxNeeds& needs, const Watchdog& watchdog) {
  watchdog.confine();
  ::tzset();  // reads a file that is unreachable later
  Report report;
  const bool no_new = ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0;
  report.add("no new privileges",
             no_new ? Status{} : Status(fs::system_error("PR_SET_NO_NEW_PRIVS")));
  report.add("no memory dumps", forbid_dumps());
  if (needs.own_namespace) report.add("few mounts", *needs.own_namespace);
  report.add("few files (Landlock)", confine_files(needs));
  report.add("few capabilities", drop_capabilities(needs));
  // Must come last: it forbids the system calls of the others.
  report.add("few system calls (seccomp)", filter_system_calls({.local_files = needs.local_files,
                                                                .network = needs.network,
                                                                .watchdog = watchdog.pid()}));
  return report.text();
}

SandboxSupport sandbox_support() {
  return {.landlock = Landlock::version(),
          .system_calls = can_filter_system_calls(),
          .libseccomp = libseccomp_version()};
}

bool has_sandbox() noexcept { return true; }

}  // namespace framefs::fuse
