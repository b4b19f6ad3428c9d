#include "fs/fuse/trusted_entries.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "fs/core/background_thread.h"
#include "fs/core/inotify_reports.h"

namespace framefs::fuse {
namespace {

// All that can change how an entry is shown.  One report is enough: it ends the watch.
constexpr std::uint32_t kChanges = IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO | IN_MODIFY |
                                   IN_ATTRIB | IN_DELETE_SELF | IN_MOVE_SELF | IN_ONLYDIR |
                                   IN_ONESHOT;

}  // namespace

void TrustedEntries::Names::add(fs::NodeId node, std::string_view name) {
  std::array<char, sizeof(node)> number{};
  std::memcpy(number.data(), &node, sizeof(node));
  packed_.append(number.data(), number.size());
  packed_.push_back(static_cast<char>(name.size()));  // at most NAME_MAX
  packed_.append(name);
  ++count_;
}

template <class Body>
void TrustedEntries::Names::for_each(const Body& body) const {
  for (std::size_t at = 0; at < packed_.size();) {
    fs::NodeId node = 0;
    std::memcpy(&node, packed_.data() + at, sizeof(node));
    at += sizeof(node);
    const std::size_t size = static_cast<unsigned char>(packed_[at]);
    body(node, packed_.substr(at + 1, size));
    at += 1 + size;
  }
}

void TrustedEntries::start(End end, Times times) {
  times_ = times;
  inotify_ = fs::UniqueFd(::inotify_init1(IN_NONBLOCK | IN_CLOEXEC));
  wake_ = fs::UniqueFd(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
  if (!inotify_ || !wake_) return;
  state_.with([](State& state) {
    state.turned_at = Clock::now();
    state.is_running = true;
  });
  thread_ =
      fs::background_thread([this, end = std::move(end)](const std::stop_token&) { serve(end); });
}

void TrustedEntries::stop() {
  state_.with([](State& state) { state.is_running = false; });
  if (!thread_.joinable()) return;
  wake();
  thread_.join();
}

std::optional<TrustedEntries::Watch> TrustedEntries::watch_of(fs::NodeId directory) const {
  return state_.with([&](const State& state) -> std::optional<Watch> {
    if (!state.is_running) return kNoWatch;
    const auto known = state.directories.find(directory);
    if (known == state.directories.end()) {
      return is_full(state) ? std::optional(kNoWatch) : std::nullopt;
    }
    const auto& found = known->second;
    if (found.watch == kNoWatch && Clock::now() >= found.rests_until) return std::nullopt;
    return found.watch;
  });
}

TrustedEntries::Watch TrustedEntries::begin(fs::NodeId directory, int fd) {
  const bool is_reported = fd >= 0 && fs::is_reported_by_inotify(fd);
  // The watch begins under the lock, because its first report may come at once.
  return state_.with([&](State& state) {
    if (!state.is_running) return kNoWatch;
    const auto known = state.directories.find(directory);
    if (known == state.directories.end() && is_full(state)) return kNoWatch;
    // The thread waits without a limit while there is no directory.
    if (state.directories.empty()) wake();
    auto& begun = state.directories[directory];
    if (begun.watch != kNoWatch) return begun.watch;
    // A directory that cannot be watched now rests as well.
    begun.rests_until = Clock::now() + times_.rest;
    if (!is_reported) return kNoWatch;
    const int descriptor =
        ::inotify_add_watch(inotify_.get(), fs::path_of_fd(fd).c_str(), kChanges);
    if (descriptor < 0) return kNoWatch;
    const auto [at, is_new] = state.by_descriptor.emplace(descriptor, directory);
    // The directory has another number as well, under which it is watched.
    if (!is_new) return kNoWatch;
    begun.descriptor = descriptor;
    begun.watch = state.next++;
    return begun.watch;
  });
}

bool TrustedEntries::grant(fs::NodeId directory, Watch watch, std::string_view name,
                           fs::NodeId node) {
  if (watch == kNoWatch) return false;
  return state_.with([&](State& state) {
    const auto known = state.directories.find(directory);
    if (known == state.directories.end() || known->second.watch != watch) return false;
    auto& names = known->second.recent;
    const auto before = names.size_bytes();
    if (state.size_bytes >= kMaxBytes) return false;
    names.add(node, name);
    state.size_bytes += names.size_bytes() - before;
    return true;
  });
}

std::size_t TrustedEntries::trusted_count(fs::NodeId directory, Watch watch) const {
  if (watch == kNoWatch) return 0;
  return state_.with([&](const State& state) -> std::size_t {
    const auto known = state.directories.find(directory);
    if (known == state.directories.end() || known->second.watch != watch) return 0;
    return known->second.recent.count();
  });
}

// Takes the names of a directory whose watch has ended.
TrustedEntries::Ended TrustedEntries::end_watch(State& state, fs::NodeId number,
                                                Directory& directory) const {
  state.by_descriptor.erase(directory.descriptor);
  state.size_bytes -= directory.size_bytes();
  Ended ended{.directory = number, .names = {}, .repeat_at = {}};
  ended.names.push_back(std::exchange(directory.recent, {}));
  ended.names.push_back(std::exchange(directory.older, {}));
  directory.watch = kNoWatch;
  directory.descriptor = -1;
  directory.rests_until = Clock::now() + times_.rest;
  return ended;
}

std::deque<TrustedEntries::Ended> TrustedEntries::take_reports() {
  return state_.with([&](State& state) {
    std::deque<Ended> ended;
    const auto end_all = [&] {
      for (auto& [number, directory] : state.directories) {
        if (directory.watch == kNoWatch) continue;
        ::inotify_rm_watch(inotify_.get(), directory.descriptor);
        ended.push_back(end_watch(state, number, directory));
      }
    };
    // A report of a watch that has ended, such as IN_IGNORED, has no directory.
    const auto take = [&](int descriptor, std::uint32_t events, std::string_view) {
      if ((events & IN_Q_OVERFLOW) != 0) return end_all();
      const auto known = state.by_descriptor.find(descriptor);
      if (known == state.by_descriptor.end()) return;
      const auto number = known->second;
      ended.push_back(end_watch(state, number, state.directories.at(number)));
    };
    if (!fs::take_inotify_reports(inotify_.get(), take)) end_all();
    return ended;
  });
}

// Drops the entries that the kernel trusts no more, and directories without any.  Their lists are
// turned at intervals of the time of trust, so that an entry stays for that time.
void TrustedEntries::turn_lists(State& state) const {
  const auto now = Clock::now();
  if (now < state.turned_at + times_.trust) return;
  state.turned_at = now;
  for (auto& [number, directory] : state.directories) {
    state.size_bytes -= directory.older.size_bytes();
    directory.older = std::exchange(directory.recent, {});
  }
  std::erase_if(state.directories, [&](const auto& known) {
    const auto& directory = known.second;
    if (directory.size_bytes() > 0 || now < directory.rests_until) return false;
    if (directory.watch != kNoWatch) {
      ::inotify_rm_watch(inotify_.get(), directory.descriptor);
      state.by_descriptor.erase(directory.descriptor);
    }
    return true;
  });
}

bool TrustedEntries::is_running() const {
  return state_.with([](const State& state) { return state.is_running; });
}

void TrustedEntries::wake() const { ::eventfd_write(wake_.get(), 1); }

void TrustedEntries::wait_for_reports(std::optional<Clock::time_point> until) const {
  std::array<pollfd, 2> sources{{{.fd = inotify_.get(), .events = POLLIN, .revents = 0},
                                 {.fd = wake_.get(), .events = POLLIN, .revents = 0}}};
  int wait_ms = -1;
  if (until) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(*until - Clock::now());
    wait_ms = static_cast<int>(std::max<std::int64_t>(left.count(), 0));
  }
  ::poll(sources.data(), sources.size(), wait_ms);
  eventfd_t woken = 0;
  ::eventfd_read(wake_.get(), &woken);
}

void TrustedEntries::end_trust(const Ended& ended, const End& end) const {
  for (const auto& names : ended.names) {
    names.for_each([&](fs::NodeId node, const std::string& name) {
      if (is_running()) end(ended.directory, name, node);
    });
  }
}

void TrustedEntries::serve(const End& end) {
  std::deque<Ended> repeated;  // in the order of their times
  while (is_running()) {
    auto until = state_.with([&](const State& state) -> std::optional<Clock::time_point> {
      if (state.directories.empty()) return std::nullopt;
      return state.turned_at + times_.trust;
    });
    if (!repeated.empty())
      until = std::min(until.value_or(repeated.front().repeat_at), repeated.front().repeat_at);
    wait_for_reports(until);
    for (auto& ended : take_reports()) {
      end_trust(ended, end);
      ended.repeat_at = Clock::now() + times_.repeat;
      repeated.push_back(std::move(ended));
    }
    while (!repeated.empty() && repeated.front().repeat_at <= Clock::now()) {
      end_trust(repeated.front(), end);
      repeated.pop_front();
    }
    state_.with([&](State& state) { turn_lists(state); });
  }
}

}  // namespace framefs::fuse
