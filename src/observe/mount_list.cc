#include "src/observe/mount_list.h"

#include <sys/xattr.h>

#include <cerrno>
#include <chrono>
#include <fstream>
#include <future>
#include <memory>
#include <sstream>
#include <thread>
#include <utility>

#include "fs/core/file.h"
#include "fs/fuse/stats_attribute.h"

namespace framefs {
namespace {

constexpr std::size_t kMaxStatsBytes = 64u << 10;
constexpr std::chrono::seconds kPatience{5};
constexpr const char* kType = "fuse.framefs";

// The kernel writes a space as \040.
std::string unescaped(const std::string& field) {
  std::string text;
  for (std::size_t i = 0; i < field.size(); ++i) {
    const bool is_escape = field[i] == '\\' && i + 3 < field.size();
    if (!is_escape) {
      text += field[i];
      continue;
    }
    text += static_cast<char>((field[i + 1] - '0') * 64 + (field[i + 2] - '0') * 8 +
                              (field[i + 3] - '0'));
    i += 3;
  }
  return text;
}

bool is_read_only(const std::string& options) {
  return options == "ro" || options.starts_with("ro,");
}

codec::Result<std::string> ask(const std::string& path) {
  std::string text(kMaxStatsBytes, '\0');
  const auto got = ::getxattr(path.c_str(), fuse::kStatsAttribute, text.data(), text.size());
  if (got < 0) return fs::system_error("statistics");
  text.resize(static_cast<std::size_t>(got));
  return text;
}

}  // namespace

// Source: proc_pid_mountinfo(5).
std::vector<FramefsMount> framefs_mounts() {
  std::vector<FramefsMount> mounts;
  std::ifstream in("/proc/self/mountinfo");
  for (std::string line; std::getline(in, line);) {
    std::istringstream fields(line);
    std::vector<std::string> words;
    for (std::string word; fields >> word;) words.push_back(word);
    std::size_t dash = 6;
    while (dash < words.size() && words[dash] != "-") ++dash;
    if (dash + 2 >= words.size() || words[dash + 1] != kType) continue;
    const auto& options = words[5];
    mounts.push_back({.mountpoint = unescaped(words[4]),
                      .source = unescaped(words[dash + 2]),
                      .is_read_only = is_read_only(options),
                      .was_read_only = dash + 3 < words.size() && is_read_only(words[dash + 3])});
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
