#include "fs/fuse/sandbox.h"

namespace framefs::fuse {

Result<SandboxNeeds> sandbox_needs(const fs::MountOptions&, bool) { return SandboxNeeds{}; }

Result<SandboxNeeds> remote_sandbox_needs(std::optional<int>) { return SandboxNeeds{}; }

std::string enter_sandbox(const SandboxNeeds&, const Watchdog&) { return "no sandbox"; }

bool has_sandbox() noexcept { return false; }

}  // namespace framefs::fuse
