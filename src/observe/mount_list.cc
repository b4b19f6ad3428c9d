#include "src/observe/mount_list.h"

#include <sys/xattr.h>

#include <cerrno>
#include <chrono>
#include <future>
#include <memory>
#include <thread>
#include <utility>

#include "fs/core/file.h"
#include "fs/core/mount_table.h"
#include "fs/fuse/stats_attribute.h"

namespace framefs {
namespace {

constexpr std::size_t kMaxStatsBytes = 64u << 10;
constexpr std::chrono::seconds kPatience{5};
constexpr const char* kType = "fuse.framefs";

codec::Result<std::string> ask(const std::string& path) {
  std::string text(kMaxStatsBytes, '\0');
  const auto got = ::getxattr(path.c_str(), fuse::kStatsAttribute, text.data(), text.size());
  if (got < 0) return fs::system_error("statistics");
  text.resize(static_cast<std::size_t>(got));
  return text;
}

}  // namespace

std::vector<FramefsMount> framefs_mounts() {
  std::vector<FramefsMount> mounts;
  for (auto& mount : fs::mount_table()) {
    if (mount.type != kType) continue;
    mounts.push_back({.mountpoint = std::move(mount.mountpoint),
                      .source = std::move(mount.source),
                      .is_read_only = fs::has_mount_option(mount.options, "ro"),
                      .was_read_only = fs::has_mount_option(mount.filesystem_options, "ro")});
  }
  return mounts;
}

codec::Result<std::string> read_stats(const std::filesystem::path& mountpoint) {
  // If the daemon hangs, the detached thread waits, and this function returns.
  const auto promise = std::make_shared<std::promise<codec::Result<std::string>>>();
  auto answer = promise->get_future();
  std::thread([promise, path = mountpoint.string()] { promise->set_value(ask(path)); }).detach();
  if (answer.wait_for(kPatience) == std::future_status::timeout) {
    return fs::system_error_of(ETIMEDOUT, "the daemon does not answer");
  }
  return answer.get();
}

}  // namespace framefs
