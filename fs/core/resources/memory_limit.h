#pragma once

#include <cstdint>
#include <filesystem>

namespace framefs::fs {

// The memory that this process may use: the smallest limit of its control group and of the groups
// above it, or the machine's memory. Reads cgroup v2 (memory.max) and v1 (memory.limit_in_bytes).
// Units: bytes.
[[nodiscard]] std::uint64_t memory_limit();

// The same with the files of a test in place of /proc and /sys/fs/cgroup; `machine_bytes` is the
// machine's memory.
[[nodiscard]] std::uint64_t memory_limit_at(const std::filesystem::path& proc_self_cgroup,
                                            const std::filesystem::path& cgroup_root,
                                            std::uint64_t machine_bytes);

// The default of the cache and that of the overlay: together at most a quarter of `limit_bytes`.
[[nodiscard]] std::uint64_t default_buffer_bytes(std::uint64_t limit_bytes) noexcept;

}  // namespace framefs::fs
