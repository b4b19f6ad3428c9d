#include "fs/core/resources/memory_limit.h"

#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

#include "codec/core/parse_number.h"

namespace framefs::fs {
namespace {

namespace stdfs = std::filesystem;

// The value of a limit file. Nothing if there is no such file, or no limit ("max").
std::optional<std::uint64_t> limit_in(const stdfs::path& file) {
  std::ifstream in(file);
  std::string word;
  if (!(in >> word)) return std::nullopt;
  return codec::parse_number<std::uint64_t>(word);
}

// The smallest limit of the group at `path` and of the groups above it. In a container, the path
// may name a group that is not visible; the groups above it then count.
std::uint64_t limit_of_groups(const stdfs::path& root, const stdfs::path& path, const char* file) {
  auto smallest = std::numeric_limits<std::uint64_t>::max();
  for (auto group = path.relative_path();; group = group.parent_path()) {
    if (const auto limit = limit_in(root / group / file)) smallest = std::min(smallest, *limit);
    if (group.empty()) return smallest;
  }
}

bool has_memory(std::string_view controllers) {
  while (!controllers.empty()) {
    const auto comma = std::min(controllers.find(','), controllers.size());
    if (controllers.substr(0, comma) == "memory") return true;
    controllers.remove_prefix(std::min(comma + 1, controllers.size()));
  }
  return false;
}

}  // namespace

// Source: cgroups(7), /proc/pid/cgroup: hierarchy-ID:controller-list:cgroup-path. The list of v2 is
// empty.
std::uint64_t memory_limit_at(const stdfs::path& proc_self_cgroup, const stdfs::path& cgroup_root,
                              std::uint64_t machine_bytes) {
  auto smallest = machine_bytes;
  std::ifstream in(proc_self_cgroup);
  for (std::string line; std::getline(in, line);) {
    const auto first = line.find(':');
    const auto second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string_view controllers =
        std::string_view(line).substr(first + 1, second - first - 1);
    const stdfs::path path(line.substr(second + 1));
    if (controllers.empty()) {
      smallest = std::min(smallest, limit_of_groups(cgroup_root, path, "memory.max"));
    } else if (has_memory(controllers)) {
      const auto root = cgroup_root / "memory";
      smallest = std::min(smallest, limit_of_groups(root, path, "memory.limit_in_bytes"));
    }
  }
  return smallest;
}

std::uint64_t memory_limit() {
  const auto pages = ::sysconf(_SC_PHYS_PAGES);
  const auto page_bytes = ::sysconf(_SC_PAGESIZE);
  auto machine_bytes = std::numeric_limits<std::uint64_t>::max();
  if (pages > 0 && page_bytes > 0) {
    machine_bytes = static_cast<std::uint64_t>(pages) * static_cast<std::uint64_t>(page_bytes);
  }
  return memory_limit_at("/proc/self/cgroup", "/sys/fs/cgroup", machine_bytes);
}

std::uint64_t default_buffer_bytes(std::uint64_t limit_bytes) noexcept {
  constexpr std::uint64_t kShare = 8;
  constexpr std::uint64_t kMaxBytes = 256u << 20;
  constexpr std::uint64_t kMinBytes = 1u << 20;
  return std::clamp(limit_bytes / kShare, kMinBytes, kMaxBytes);
}

}  // namespace framefs::fs
