#include "src/cli/mount_option_syntax.h"

#include <algorithm>
#include <array>

#include <fmt/core.h>

#include "fs/core/files/mount_table.h"

namespace framefs {
namespace {

// Options for the kernel.
constexpr std::array<std::string_view, 11> kVfsWords = {"nosuid",  "nodev", "noexec", "suid",
                                                        "dev",     "exec",  "sync",   "async",
                                                        "noatime", "atime", "dirsync"};

// Options for mount(8), fstab(5) and systemd.  The last four have no effect, because the kernel
// keeps no access times for FUSE; libfuse rejects them.
constexpr std::array<std::string_view, 14> kIgnoredWords = {
    "defaults", "auto",    "noauto", "user",     "nouser",     "users",       "owner",
    "group",    "_netdev", "silent", "relatime", "nodiratime", "strictatime", "lazytime"};

// Options that the kernel shows of a mount of FUSE.
constexpr std::array<std::string_view, 5> kShownWords = {
    "user_id", "group_id", "default_permissions", "max_read", "blksize"};

// Words that are options of the program without being options of its command line.
constexpr std::array<std::string_view, 2> kHelperWords = {"remount", "nofail"};

// Options that make no sense in an fstab.
constexpr std::array<std::string_view, 3> kCommandLineOnly = {"foreground", "help", "version"};

template <std::size_t N>
bool holds(const std::array<std::string_view, N>& words, std::string_view word) {
  return std::ranges::find(words, word) != words.end();
}

// Returns the words of an option.  --ro and --rw are one option with two names.
std::vector<std::string> words_of(const OptionSyntax& option) {
  std::vector<std::string> words;
  if (holds(kCommandLineOnly, option.long_name())) return words;
  for (const auto& name : option.names) {
    if (!name.starts_with("--")) continue;
    auto word = name.substr(2);
    std::ranges::replace(word, '-', '_');
    words.push_back(std::move(word));
  }
  return words;
}

const OptionSyntax* find_option(const CommandSyntax& mount, std::string_view word) {
  for (const auto& option : mount.options) {
    const auto words = words_of(option);
    if (std::ranges::find(words, word) != words.end()) return &option;
  }
  return nullptr;
}

bool is_ignored(std::string_view word) {
  return word.empty() || holds(kIgnoredWords, word) || word.starts_with("x-") ||
         word.starts_with("X-") || word.starts_with("comment=");
}

std::unexpected<std::string> refuse(std::string_view word, const CommandSyntax& mount) {
  const auto name = word.substr(0, word.find('='));
  if (const auto* const option = find_option(mount, name)) {
    return std::unexpected(
        option->takes_value()
            ? fmt::format("the mount option {0} needs a value: {0}={1}", name, option->value)
            : fmt::format("the mount option {} takes no value: {}", name, word));
  }
  std::string advice;
  if (const auto nearest = nearest_word(name, mount_words(mount))) {
    advice = fmt::format(" (did you mean {}?)", *nearest);
  }
  return std::unexpected(fmt::format("unknown mount option: {}{}", word, advice));
}

}  // namespace

std::expected<std::vector<std::string>, std::string> expand_mount_options(
    std::string_view words, const CommandSyntax& mount) {
  std::vector<std::string> options;
  const bool is_remount = fs::has_mount_option(words, "remount");
  while (!words.empty()) {
    const auto word = words.substr(0, words.find(','));
    words.remove_prefix(std::min(words.size(), word.size() + 1));
    if (is_ignored(word)) continue;
    if (is_remount && holds(kShownWords, word.substr(0, word.find('=')))) continue;
    if (holds(kHelperWords, word)) {
      options.push_back("--" + std::string(word));
      continue;
    }
    if (holds(kVfsWords, word)) {
      options.push_back("--vfs=" + std::string(word));
      continue;
    }
    const auto name = word.substr(0, word.find('='));
    const auto* const option = find_option(mount, name);
    const bool has_value = name.size() != word.size();
    if (option == nullptr || option->takes_value() != has_value) return refuse(word, mount);
    std::string text = "--" + std::string(name);
    std::ranges::replace(text, '_', '-');
    options.push_back(text + std::string(word.substr(name.size())));
  }
  return options;
}

std::vector<std::string> mount_words(const CommandSyntax& mount) {
  std::vector<std::string> all(kVfsWords.begin(), kVfsWords.end());
  all.insert(all.end(), kHelperWords.begin(), kHelperWords.end());
  for (const auto& option : mount.options) {
    for (const auto& word : words_of(option))
      all.push_back(word + (option.takes_value() ? "=" : ""));
  }
  std::ranges::sort(all);
  return all;
}

}  // namespace framefs
