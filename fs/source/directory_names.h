#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "fs/core/files/file.h"
#include "fs/core/threads/guarded.h"

namespace framefs::fs {

// Remembers which names some directories of SOURCE have, so that a lookup of absent names takes one
// system call.  A mount looks for several names in SOURCE for each shown name, and most of them are
// absent.
//
// inotify reports the names that appear, whichever program makes them.  A name is reported before
// the system call that makes it returns, and every question takes the reports first.  The set of a
// directory's names only grows, also by names that are gone: the caller finds that out.  Hence
// neither the order of reports nor equal hashes can hide a name.
//
// Directories are watched only where all changes go through this kernel and names have one
// spelling.  Memory and watches are bounded: the directory that was asked for least lately goes
// first.
// Threads: any number.
class DirectoryNames {
 public:
  // The maximum number of names of all directories together, and of directories.
  struct Bounds {
    std::size_t names = 1u << 17;
    std::size_t directories = 256;
    bool is_immutable = false;  // no name appears, so nothing is watched
  };
  DirectoryNames() = default;
  explicit DirectoryNames(const Bounds& bounds) {
    state_.with([&](State& now) { now.bounds = bounds; });
  }

  // A directory is listed when it was asked for this often.
  static constexpr std::size_t kFirstListing = 8;

  // Removes the names that the directory does not have; may leave some of them.  `directory` may be
  // an O_PATH descriptor.
  void remove_absent(int directory, const FileKey& key, std::vector<std::string>& names);

  // Whether the directory certainly does not have the name.  Costs one system call.
  [[nodiscard]] bool is_absent(const FileKey& key, std::string_view name);

  // The number of directories whose names are known.
  [[nodiscard]] std::size_t directories() const;

 private:
  using Hashes = std::unordered_set<std::uint64_t>;
  struct Directory {
    int watch = -1;
    bool is_listed = false;
    std::uint64_t asked_at = 0;
    Hashes names{};
  };
  // A directory that is not watched.
  struct Candidate {
    FileKey key;
    std::size_t asked = 0;
    std::size_t next_listing = kFirstListing;
    bool is_refused = false;
  };
  struct State {
    Bounds bounds;
    UniqueFd inotify;  // opened for the first directory
    std::unordered_map<FileKey, Directory, FileKeyHash> directories;
    std::unordered_map<int, FileKey> by_watch;
    std::size_t names = 0;
    std::uint64_t questions = 0;
    int unwatched = 0;  // directories that were listed without a watch
    std::array<Candidate, 64> candidates{};

    Candidate& candidate(const FileKey& key);
    int watch(int directory, const FileKey& key);
    void add(Directory& to, std::uint64_t hash);
    void forget(const FileKey& key);
    void forget_all();
    void shrink();
    void take_reports();
    void take_report(int watch, std::uint32_t events, std::string_view name);
  };

  // The number of names up to which the directory is worth listing now; 0: it is not.
  static std::size_t worth_listing(State& state, const FileKey& key);
  void list(int directory, const FileKey& key, std::size_t most);

  Guarded<State> state_;
};

}  // namespace framefs::fs
