#include <cerrno>

#include "fs/fuse/confine/sandbox.h"

namespace framefs::fuse {

Result<SandboxNeeds> sandbox_needs(const Surroundings&, bool, bool) { return SandboxNeeds{}; }

Result<SandboxNeeds> remote_sandbox_needs(std::optional<int>) { return SandboxNeeds{}; }

std::string enter_sandbox(const SandboxNeeds&, const Watchdog&) { return "no sandbox"; }

SandboxSupport sandbox_support() {
  const auto none = fs::system_error_of(EOPNOTSUPP, "built without a sandbox");
  return {.landlock = none, .system_calls = none, .libseccomp = {}};
}

bool has_sandbox() noexcept { return false; }

}  // namespace framefs::fuse
