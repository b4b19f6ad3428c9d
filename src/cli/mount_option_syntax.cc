#include "src/cli/mount_option_syntax.h"

#include <algorithm>
#include <array>

namespace framefs {
namespace {

// Options for the kernel.
constexpr std::array<std::string_view, 11> kVfsWords = {"nosuid",  "nodev", "noexec", "suid",
                                                        "dev",     "exec",  "sync",   "async",
                                                        "noatime", "atime", "dirsync"};

// Options for mount(8), fstab(5) and systemd.  Two of them, relatime and nodiratime, change nothing
// where the kernel keeps no access times, and libfuse does not know them.
constexpr std::array<std::string_view, 13> kIgnoredWords = {
    "defaults", "auto",   "noauto",  "user",   "nouser",   "users",     "owner",
    "group",    "nofail", "_netdev", "silent", "relatime", "nodiratime"};

// framefs options without and with a value.
constexpr std::array<std::string_view, 8> kOwnFlags = {
    "allow_other", "keep_suffix", "debug", "io_uring", "no_sandbox", "ro", "rw", "writeback"};
constexpr std::array<std::string_view, 10> kOwnValues = {
    "cache_size", "threads", "log_file", "attr_timeout", "arrays",
    "offset",     "rule",    "plain",    "overlay_size", "commit_interval"};

template <std::size_t N>
bool holds(const std::array<std::string_view, N>& words, std::string_view word) {
  return std::ranges::find(words, word) != words.end();
}

std::string as_option(std::string_view word) {
  const auto name = word.substr(0, word.find('='));
  std::string option = "--" + std::string(name);
  std::ranges::replace(option, '_', '-');
  return option + std::string(word.substr(name.size()));
}

}  // namespace

std::expected<std::vector<std::string>, std::string> expand_mount_options(std::string_view words) {
  std::vector<std::string> options;
  while (!words.empty()) {
    const auto word = words.substr(0, words.find(','));
    words.remove_prefix(std::min(words.size(), word.size() + 1));
    const auto equals = word.find('=');
    const bool has_value = equals != std::string_view::npos;
    if (holds(kVfsWords, word)) {
      options.push_back("--vfs=" + std::string(word));
    } else if ((!has_value && holds(kOwnFlags, word)) ||
               (has_value && holds(kOwnValues, word.substr(0, equals)))) {
      options.push_back(as_option(word));
    } else if (!word.empty() && !holds(kIgnoredWords, word) && !word.starts_with("x-") &&
               !word.starts_with("comment=")) {
      return std::unexpected(std::string(word));
    }
  }
  return options;
}

}  // namespace framefs
