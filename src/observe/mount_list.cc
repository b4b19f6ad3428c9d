#include "src/observe/mount_list.h"

#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <future>
#include <memory>
#include <optional>
#include <string_view>
#include <thread>
#include <utility>

#include "fs/core/file.h"
#include "fs/core/mount_table.h"
#include "fs/fuse/stats_attribute.h"
#include "src/observe/mount_daemon.h"

namespace framefs {
namespace {

constexpr std::size_t kMaxStatsBytes = 64u << 10;
constexpr std::chrono::seconds kPatience{5};
constexpr std::chrono::seconds kPatienceWithOthers{1};
constexpr std::string_view kType = "fuse.framefs";

using Answer = std::future<codec::Result<std::string>>;

// The kernel keeps root out of the mounts of users.  Gives this thread, which then ends, the user
// and group of a mount; without effect for other callers than root.
void become_user_of(const std::string& path) {
  if (::geteuid() != 0) return;
  const auto mounts = fs::mount_table();
  const auto mount = std::find_if(mounts.rbegin(), mounts.rend(), [&](const auto& entry) {
    return entry.mountpoint == path && entry.type.starts_with("fuse");
  });
  if (mount == mounts.rend()) return;
  const auto user = user_of(mount->filesystem_options);
  const auto group = group_of(mount->filesystem_options);
  if (!user || !group || *user == 0) return;
  // The functions of the C library would change all threads.
  if (::syscall(SYS_setresgid, *group, *group, *group) != 0) return;
  [[maybe_unused]] const auto changed = ::syscall(SYS_setresuid, *user, *user, *user);
}

codec::Result<std::string> ask(const std::string& path) {
  become_user_of(path);
  std::string text(kMaxStatsBytes, '\0');
  const auto got = ::getxattr(path.c_str(), fuse::kStatsAttribute, text.data(), text.size());
  if (got < 0) return fs::system_error("statistics");
  text.resize(static_cast<std::size_t>(got));
  return text;
}

// Asks on a thread of its own, which waits if the daemon hangs.
Answer start_to_ask(const std::filesystem::path& mountpoint) {
  const auto promise = std::make_shared<std::promise<codec::Result<std::string>>>();
  auto answer = promise->get_future();
  std::thread([promise, path = mountpoint.string()] { promise->set_value(ask(path)); }).detach();
  return answer;
}

// A mount that may be one of framefs.
struct Candidate {
  fs::MountTableEntry mount;
  Answer answer;  // not valid if the type says that the mount is one of framefs
};

// With --subtype, only the daemon can tell.
std::optional<Candidate> candidate_of(fs::MountTableEntry mount) {
  if (mount.type == kType) return Candidate{.mount = std::move(mount), .answer = {}};
  if (mount.type != "fuse" && !mount.type.starts_with("fuse.")) return std::nullopt;
  if (find_daemon(mount)) return Candidate{.mount = std::move(mount), .answer = {}};
  auto answer = start_to_ask(mount.mountpoint);
  return Candidate{.mount = std::move(mount), .answer = std::move(answer)};
}

bool is_framefs(Candidate& candidate, std::chrono::steady_clock::time_point end) {
  auto& answer = candidate.answer;
  if (!answer.valid()) return true;
  return answer.wait_until(end) == std::future_status::ready && answer.get().has_value();
}

// The mounts of framefs among those for which `is_wanted` is true.
template <class Wanted>
std::vector<FramefsMount> mounts_where(const Wanted& is_wanted) {
  std::vector<Candidate> candidates;
  for (auto& mount : fs::mount_table()) {
    if (!is_wanted(mount)) continue;
    if (auto candidate = candidate_of(std::move(mount))) {
      candidates.push_back(std::move(*candidate));
    }
  }
  const auto end = std::chrono::steady_clock::now() + kPatienceWithOthers;
  std::vector<FramefsMount> mounts;
  for (auto& candidate : candidates) {
    if (!is_framefs(candidate, end)) continue;
    const auto& mount = candidate.mount;
    const bool is_read_only = fs::has_mount_option(mount.options, "ro");
    const bool was_read_only = fs::has_mount_option(mount.filesystem_options, "ro");
    mounts.push_back({mount, is_read_only, was_read_only});
  }
  return mounts;
}

}  // namespace

std::vector<FramefsMount> framefs_mounts() {
  return mounts_where([](const fs::MountTableEntry&) { return true; });
}

std::optional<FramefsMount> framefs_mount_at(const std::filesystem::path& mountpoint) {
  const auto mounts = mounts_where(
      [&](const fs::MountTableEntry& mount) { return mount.mountpoint == mountpoint; });
  return mounts.empty() ? std::nullopt : std::optional(mounts.front());
}

codec::Result<std::string> read_stats(const std::filesystem::path& mountpoint) {
  auto answer = start_to_ask(mountpoint);
  if (answer.wait_for(kPatience) == std::future_status::timeout) {
    return fs::refusal(ETIMEDOUT, "the daemon does not answer");
  }
  return answer.get();
}

}  // namespace framefs
