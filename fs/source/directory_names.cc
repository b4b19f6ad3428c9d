#include "fs/source/directory_names.h"

#include <fcntl.h>
#include <linux/fs.h>
#include <linux/magic.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <functional>

#include "fs/core/files/inotify_reports.h"
#include "fs/source/directory_items.h"

namespace framefs::fs {
namespace {

// A listing is worth its cost if this many names were listed for each question.
constexpr std::size_t kNamesPerQuestion = 128;
constexpr std::size_t kListingFactor = 8;

std::uint64_t hash_of(std::string_view name) { return std::hash<std::string_view>{}(name); }

// Whether inotify reports all new names of the directory, and the directory finds names only as
// they are listed.
bool reports_all_names(int directory) {
  if (!is_reported_by_inotify(directory)) return false;
  // XFS does not tell whether it finds names without regard to case.
  struct statfs filesystem{};
  if (::fstatfs(directory, &filesystem) != 0) return false;
  if (static_cast<std::uint32_t>(filesystem.f_type) == XFS_SUPER_MAGIC) return false;
  const auto open = reopen(directory, O_RDONLY | O_DIRECTORY);
  if (!open) return false;
  // A filesystem without flags has no names without regard to case.
  unsigned flags = 0;
  if (::ioctl(open->get(), FS_IOC_GETFLAGS, &flags) != 0) return errno == ENOTTY;
  return (flags & unsigned{FS_CASEFOLD_FL}) == 0;
}

}  // namespace

DirectoryNames::Candidate& DirectoryNames::State::candidate(const FileKey& key) {
  auto& found = candidates[FileKeyHash{}(key) % candidates.size()];
  if (found.key != key) found = Candidate{.key = key};
  return found;
}

// Returns the number of the watch, which no other watch gets; -1 if the directory is watched
// already or the system does not allow it.
int DirectoryNames::State::watch(int directory, const FileKey& key) {
  if (directories.contains(key)) return -1;
  if (bounds.is_immutable) {
    directories[key] = {.watch = ++unwatched, .asked_at = questions};
    return unwatched;
  }
  if (!inotify) inotify = UniqueFd(::inotify_init1(IN_NONBLOCK | IN_CLOEXEC));
  if (!inotify) return -1;
  const int watch = ::inotify_add_watch(inotify.get(), path_of_fd(directory).c_str(),
                                        IN_CREATE | IN_MOVED_TO | IN_ONLYDIR);
  if (watch < 0) return -1;
  directories[key] = {.watch = watch, .asked_at = questions};
  by_watch[watch] = key;
  return watch;
}

void DirectoryNames::State::add(Directory& to, std::uint64_t hash) {
  if (to.names.insert(hash).second) ++names;
}

void DirectoryNames::State::forget(const FileKey& key) {
  const auto at = directories.find(key);
  if (at == directories.end()) return;
  names -= at->second.names.size();
  if (bounds.is_immutable) {
    directories.erase(at);
    return;
  }
  by_watch.erase(at->second.watch);
  // Fails if the kernel has ended the watch.
  static_cast<void>(::inotify_rm_watch(inotify.get(), at->second.watch));
  directories.erase(at);
}

void DirectoryNames::State::forget_all() {
  while (!directories.empty()) forget(directories.begin()->first);
}

void DirectoryNames::State::shrink() {
  const auto by_age = [](const auto& one, const auto& other) {
    return one.second.asked_at < other.second.asked_at;
  };
  while (names > bounds.names || directories.size() > bounds.directories) {
    forget(std::ranges::min_element(directories, by_age)->first);
  }
}

void DirectoryNames::State::take_report(int watch, std::uint32_t events, std::string_view name) {
  if ((events & IN_Q_OVERFLOW) != 0) return forget_all();
  const auto at = by_watch.find(watch);
  if (at == by_watch.end()) return;
  const auto key = at->second;
  // The directory was removed, or its filesystem was unmounted.
  if ((events & IN_IGNORED) != 0) return forget(key);
  add(directories.at(key), hash_of(name));
}

void DirectoryNames::State::take_reports() {
  if (directories.empty() || bounds.is_immutable) return;
  const bool were_all = take_inotify_reports(
      inotify.get(), [this](int watch, std::uint32_t events, std::string_view name) {
        take_report(watch, events, name);
      });
  if (!were_all) forget_all();
  shrink();
}

std::size_t DirectoryNames::worth_listing(State& state, const FileKey& key) {
  auto& candidate = state.candidate(key);
  if (++candidate.asked < candidate.next_listing || candidate.is_refused) return 0;
  candidate.next_listing *= kListingFactor;
  return std::min(candidate.asked * kNamesPerQuestion, state.bounds.names);
}

void DirectoryNames::list(int directory, const FileKey& key, std::size_t most) {
  const bool is_reported = reports_all_names(directory);
  const int watch = state_.with([&](State& now) {
    if (is_reported) return now.watch(directory, key);
    now.candidate(key).is_refused = true;
    return -1;
  });
  if (watch < 0) return;
  // Names that appear from here on are reported.
  std::vector<std::uint64_t> hashes;
  const auto listed = for_each_item(directory, [&](const SourceItem& item) {
    hashes.push_back(hash_of(item.name));
    return hashes.size() <= most;
  });
  state_.with([&](State& now) {
    const auto at = now.directories.find(key);
    // Another thread may have forgotten the directory meanwhile, and a third one watches it again.
    if (at == now.directories.end() || at->second.watch != watch) return;
    if (!listed || hashes.size() > most) return now.forget(key);
    for (const auto hash : hashes) now.add(at->second, hash);
    at->second.is_listed = true;
    now.shrink();
  });
}

void DirectoryNames::remove_absent(int directory, const FileKey& key,
                                   std::vector<std::string>& names) {
  const auto ask = [&](State& now) -> std::size_t {
    now.take_reports();
    const auto at = now.directories.find(key);
    if (at == now.directories.end()) return worth_listing(now, key);
    if (!at->second.is_listed) return 0;
    at->second.asked_at = ++now.questions;
    const auto& known = at->second.names;
    std::erase_if(names, [&](const auto& name) { return !known.contains(hash_of(name)); });
    return 0;
  };
  if (const auto most = state_.with(ask); most > 0) list(directory, key, most);
}

bool DirectoryNames::is_absent(const FileKey& key, std::string_view name) {
  return state_.with([&](State& now) {
    now.take_reports();
    const auto at = now.directories.find(key);
    if (at == now.directories.end() || !at->second.is_listed) return false;
    at->second.asked_at = ++now.questions;
    return !at->second.names.contains(hash_of(name));
  });
}

std::size_t DirectoryNames::directories() const {
  return state_.with([](const State& now) { return now.directories.size(); });
}

}  // namespace framefs::fs
