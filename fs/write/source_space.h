#pragma once

#include <cstdint>

namespace framefs::fs {

// Whether SOURCE may refuse to store `bytes` more: its filesystem, which is that of `fd`, has less
// than twice as much free space and 64 MiB, has quotas that it enforces, or is one of which framefs
// does not know that it takes what statfs(2) shows as free.
// Threads: any number.
[[nodiscard]] bool may_lack_space(int fd, std::uint64_t bytes);

}  // namespace framefs::fs
