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
#include <system_error>
#include <thread>
#include <utility>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "fs/core/diagnostics/recent_lines.h"
#include "fs/core/files/file.h"
#include "fs/core/files/mount_table.h"
#include "fs/fuse/ops/stats_attribute.h"
#include "src/cli/cause_text.h"
#include "src/observe/mount_daemon.h"
#include "src/observe/unmount.h"

namespace framefs {
namespace {

constexpr std::size_t kMaxAnswerBytes = 64u << 10;
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

codec::Result<std::string> ask(const std::string& path, const std::string& attribute) {
  become_user_of(path);
  std::string text(kMaxAnswerBytes, '\0');
  const auto got = ::getxattr(path.c_str(), attribute.c_str(), text.data(), text.size());
  if (got < 0) return fs::system_error("statistics");
  text.resize(static_cast<std::size_t>(got));
  return text;
}

// Asks on a thread of its own, which waits if the daemon hangs.
Answer start_to_ask(const std::filesystem::path& mountpoint, const std::string& attribute) {
  const auto promise = std::make_shared<std::promise<codec::Result<std::string>>>();
  auto answer = promise->get_future();
  std::thread([promise, attribute, path = mountpoint.string()] {
    promise->set_value(ask(path, attribute));
  }).detach();
  return answer;
}

codec::Result<std::string> answer_to(Answer& answer) {
  if (answer.wait_for(kPatience) == std::future_status::timeout) {
    return fs::refusal(ETIMEDOUT, "the daemon does not answer");
  }
  return answer.get();
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
  auto answer = start_to_ask(mount.mountpoint, fuse::kStatsAttribute);
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
  const auto all = fs::mount_table();
  const auto top = std::find_if(all.rbegin(), all.rend(), [&](const fs::MountTableEntry& mount) {
    return mount.mountpoint == mountpoint;
  });
  if (top == all.rend()) return std::nullopt;
  const auto mounts =
      mounts_where([&](const fs::MountTableEntry& mount) { return mount.number == top->number; });
  return mounts.empty() ? std::nullopt : std::optional(mounts.front());
}

// A link is read and not followed: the daemon of the mount to which it leads may hang.
std::filesystem::path place_of_mount(const std::string& path) {
  constexpr int kMaxLinks = 40;  // as the kernel
  auto place = mountpoint_path(path);
  for (int i = 0; i < kMaxLinks && !framefs_mount_at(place); ++i) {
    std::error_code no_link;
    const auto target = std::filesystem::read_symlink(place, no_link);
    if (no_link) break;
    place = mountpoint_path((place.parent_path() / target).string());
  }
  return place;
}

StatsQuestions::StatsQuestions(std::filesystem::path mountpoint)
    : mountpoint_(std::move(mountpoint)) {}

codec::Result<std::string> StatsQuestions::ask() {
  if (!open_.valid()) open_ = start_to_ask(mountpoint_, fuse::kStatsAttribute);
  FRAMEFS_TRY(auto text, answer_to(open_));
  if (!nlohmann::json::parse(text, nullptr, false).is_object()) {
    return fs::refusal(EPROTO, "the daemon gives no statistics");
  }
  return text;
}

codec::Result<std::string> read_stats(const std::filesystem::path& mountpoint) {
  return StatsQuestions(mountpoint).ask();
}

codec::Result<std::vector<std::string>> read_log(const std::filesystem::path& mountpoint) {
  std::vector<std::string> lines;
  std::uint64_t next = 0;
  // The daemon can be any program of any user, and may write more lines meanwhile.
  while (lines.size() < fs::RecentLines::kMaxLines) {
    auto answer = start_to_ask(mountpoint, fuse::kLogAttribute + std::to_string(next));
    FRAMEFS_TRY(const auto text, answer_to(answer));
    const auto page = nlohmann::json::parse(text, nullptr, false);
    if (!page.is_object() || !page.contains("first") || !page.contains("lines")) break;
    const auto& first = page["first"];
    const auto& more = page["lines"];
    if (!first.is_number_unsigned() || !more.is_array() || more.empty()) break;
    for (const auto& line : more) {
      if (line.is_string()) lines.push_back(line.get<std::string>());
    }
    next = first.get<std::uint64_t>() + more.size();
  }
  return lines;
}

std::string no_answer_text(const std::string& mountpoint, const codec::Error& error) {
  const bool is_other = error.sys == ENODATA || error.sys == ENOTSUP;
  if (!is_other) return fmt::format("{}: {}", mountpoint, cause_text(error));
  return fmt::format("{} is not a mount of framefs; framefs list shows the mounts", mountpoint);
}

}  // namespace framefs
