#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <unordered_map>
#include <vector>

#include "fs/core/file.h"
#include "fs/core/guarded.h"
#include "fs/tree/node.h"

namespace framefs::fuse {

// Entries whose names and attributes the kernel may trust for longer than --attr-timeout, because
// inotify reports their changes.  A second walk through a large directory then asks for nothing.
//
// A directory is watched from a lookup in it until the first change in it.  That change ends the
// trust in all its entries: one entry can change how another one is shown.  Then the directory
// rests, so that the reports cost little where programs write.
//
// No change is missed between the lookup and its answer: the watch begins before SOURCE is asked,
// and an answer is not trusted if its watch has ended.  While the kernel waits for the answer to
// the lookup of a new name, it keeps the directory locked, and it takes that lock to end the trust
// in a name.  It revalidates a known name without the lock, and may store such an answer just after
// the trust ended.  Hence the trust is ended a second time a little later.
//
// inotify does not report writes through a shared mapping, and reports those through a descriptor
// to the directory of the name under which it was opened.  fs::NodeEntry::is_settled excludes most
// files that have such a descriptor; kTrust limits how long the kernel misses a change.
// Threads: any number.
class TrustedEntries {
 public:
  static constexpr std::chrono::seconds kTrust{30};
  // A test passes other times.
  struct Times {
    std::chrono::milliseconds trust = kTrust;
    std::chrono::milliseconds rest{10'000};   // between a change and the next watch
    std::chrono::milliseconds repeat{1'000};  // until the trust is ended a second time
  };
  // Makes the kernel ask again for the name in the directory, and for the attributes of the node.
  using End = std::function<void(fs::NodeId directory, const std::string& name, fs::NodeId node)>;
  // The number of a watch, which no other watch gets.
  using Watch = std::uint64_t;
  static constexpr Watch kNoWatch = 0;

  TrustedEntries() = default;
  TrustedEntries(const TrustedEntries&) = delete;
  TrustedEntries& operator=(const TrustedEntries&) = delete;
  ~TrustedEntries() { stop(); }

  // From now on until stop(), directories are watched.  Without inotify, none is.
  void start(End end, Times times);
  void start(End end) { start(std::move(end), Times()); }
  // Waits until no call of `end` is running.  Must be called while requests are served: `end` may
  // wait in the kernel for the lock of a directory, which a request holds.
  void stop();

  // The watch of a directory: kNoWatch while it rests, or while no further one can be watched;
  // nothing if begin() has to be called.
  [[nodiscard]] std::optional<Watch> watch_of(fs::NodeId directory) const;
  // Begins to watch the directory; `fd` is an open descriptor of it, or an O_PATH one.  Returns
  // kNoWatch if inotify does not report all changes of that directory, or allows no more watches.
  Watch begin(fs::NodeId directory, int fd);
  // Notes that the kernel is told to trust an entry that was looked up after `watch` began.
  // Returns false if it must not be told so: the watch has ended, or too many entries are trusted.
  bool grant(fs::NodeId directory, Watch watch, std::string_view name, fs::NodeId node);
  // How many entries of the directory the kernel still trusts, at least, since `watch` began.
  // Entries that were trusted twice count twice.
  [[nodiscard]] std::size_t trusted_count(fs::NodeId directory, Watch watch) const;

 private:
  using Clock = std::chrono::steady_clock;

  // Names and nodes, packed: an entry is the node's number, the size of the name, and the name.
  class Names {
   public:
    void add(fs::NodeId node, std::string_view name);
    template <class Body>
    void for_each(const Body& body) const;
    [[nodiscard]] std::size_t size_bytes() const noexcept { return packed_.size(); }
    [[nodiscard]] std::size_t count() const noexcept { return count_; }

   private:
    std::string packed_;
    std::size_t count_ = 0;
  };
  struct Directory {
    Watch watch = kNoWatch;
    int descriptor = -1;  // of inotify
    Clock::time_point rests_until;
    // The entries that were trusted since the lists were last turned, and those before.
    Names recent;
    Names older;
    [[nodiscard]] std::size_t size_bytes() const noexcept {
      return recent.size_bytes() + older.size_bytes();
    }
  };
  struct State {
    std::unordered_map<fs::NodeId, Directory> directories;
    std::unordered_map<int, fs::NodeId> by_descriptor;
    Watch next = kNoWatch + 1;
    std::size_t size_bytes = 0;  // of all names
    Clock::time_point turned_at;
    bool is_running = false;
  };
  // Entries in which the trust has ended.
  struct Ended {
    fs::NodeId directory = 0;
    std::vector<Names> names;
    Clock::time_point repeat_at;
  };
  static constexpr std::size_t kMaxDirectories = 4096;
  static constexpr std::size_t kMaxBytes = std::size_t{16} << 20;

  static bool is_full(const State& state) { return state.directories.size() >= kMaxDirectories; }
  void serve(const End& end);
  void wake() const;
  void wait_for_reports(std::optional<Clock::time_point> until) const;
  [[nodiscard]] std::deque<Ended> take_reports();
  Ended end_watch(State& state, fs::NodeId number, Directory& directory) const;
  void turn_lists(State& state) const;
  [[nodiscard]] bool is_running() const;
  void end_trust(const Ended& ended, const End& end) const;

  // Constant between start() and stop().
  Times times_;
  fs::UniqueFd inotify_;
  fs::UniqueFd wake_;  // an eventfd

  fs::Guarded<State> state_;
  std::jthread thread_;
};

}  // namespace framefs::fuse
