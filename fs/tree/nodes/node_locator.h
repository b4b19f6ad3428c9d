#pragma once

#include <sys/stat.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "fs/core/diagnostics/log.h"
#include "fs/core/retries.h"
#include "fs/core/threads/guarded.h"
#include "fs/source/backing_file.h"
#include "fs/source/source_handles.h"
#include "fs/source/source_root.h"
#include "fs/tree/nodes/node_table.h"

namespace framefs::fs {

// Locates nodes in SOURCE and opens them.  A node is opened by the path at which it was last seen.
// While the node is being renamed, the caller waits.  After the node has lost that name, it is
// opened by the descriptor that NodeTable keeps.  An exported node is else opened by its handle.
// Threads: any number.
class NodeLocator {
 public:
  // `root_key` is the key of the node for SOURCE itself.  Lifetime: `log`, and `handles`, which may
  // be null, outlive the locator.
  NodeLocator(SourceRoot root, const NodeKey& root_key, std::string source_name, Log& log,
              const SourceHandles* handles = nullptr);

  [[nodiscard]] NodeTable& nodes() noexcept { return nodes_; }
  [[nodiscard]] const NodeTable& nodes() const noexcept { return nodes_; }
  [[nodiscard]] const SourceRoot& root() const noexcept { return root_; }
  [[nodiscard]] std::string name_for_log(const Node& node) const;
  void log_failure(const Node& node, const Error& error) const {
    log_.failure(name_for_log(node), error);
  }
  void log_warning(const Node& node, const std::string& text) const {
    log_.warn(name_for_log(node) + " " + text);
  }
  // Null if the handles of files do not outlive the mount.
  [[nodiscard]] const SourceHandles* handles() const noexcept { return handles_; }

  // Opens a path in SOURCE, as SourceRoot::open() does.  A removed SOURCE would be an empty
  // directory: the open fails then, and the first one says so in the log.
  // Errors: those of SourceRoot::open(); ESTALE if SOURCE was removed.
  [[nodiscard]] Result<UniqueFd> open_path(const std::string& path, int flags) const;
  // Opens the file that the node shows; `flags` are those of open(2).
  // Errors: system; ESTALE if the node is not found, which makes the kernel look its name up again.
  [[nodiscard]] Result<UniqueFd> open(const Node& node, int flags) const;
  // The same, with the attributes of the opened file.
  struct Opened {
    UniqueFd fd;
    struct stat stat{};
  };
  [[nodiscard]] Result<Opened> open_with_stat(const Node& node, int flags) const;
  // Opens the file of an exported node by its handle, wherever it is.
  // Errors: system; ESTALE if there is no such file, or if the node is not exported.
  [[nodiscard]] Result<UniqueFd> open_by_handle(const Node& node, int flags) const;
  // Opens the backing file for reading, and for writing if `access` is O_RDWR.  For a member of a
  // container, opens the container.  Errors: those of open().
  [[nodiscard]] Result<BackingFile> open_file(const Node& node, int access = 0) const;

  // Runs by_descriptor(fd) for a node that has lost its name, with the O_PATH descriptor that
  // NodeTable keeps.  For any other node, runs by_path(path), which looks for it at a path in
  // SOURCE.  If the node is not there, and its names or those of its parents changed meanwhile,
  // looks for it again.
  template <class ByPath, class ByDescriptor>
  auto where_it_is(const Node& node, const ByPath& by_path,
                   const ByDescriptor& by_descriptor) const {
    for (Retries retries;;) {
      const auto before = renames();
      const auto known = nodes_.whereabouts(node);
      if (known.held) return by_descriptor(known.held->get());
      auto found = by_path(known.path);
      if (found || !is_elsewhere(found.error()) || !retries.are_left()) return found;
      wait_for_renames();
      if (is_steady_since(before) && nodes_.whereabouts(node) == known) return found;
    }
  }
  // Whether the error says that the node is not at its last known path.
  static bool is_elsewhere(const Error& error) noexcept;
  // The error for a node that is not found.
  static std::unexpected<Error> missing(const Error& error);

  // Runs `rename`, () -> Status, which renames an entry in SOURCE, or puts one in the place of
  // another, and updates the table of nodes.
  template <class Rename>
  Status renaming(const Rename& rename) {
    return renaming_.with([&](Renaming&) {
      renames_begun_.fetch_add(1, std::memory_order_acq_rel);
      const auto done = rename();
      renames_ended_.fetch_add(1, std::memory_order_acq_rel);
      return done;
    });
  }
  // The number of renames that have ended.
  [[nodiscard]] std::uint64_t renames() const noexcept {
    return renames_ended_.load(std::memory_order_acquire);
  }
  // Whether no rename was under way since renames() returned `before`.
  [[nodiscard]] bool is_steady_since(std::uint64_t before) const noexcept {
    return renames_begun_.load(std::memory_order_acquire) == before;
  }
  // Runs `attempt`, which looks for a name in a folder.  If it finds nothing, and entries were
  // renamed meanwhile, the name may have passed from one entry to another: runs it again.
  template <class Attempt>
  auto beside_renames(const Attempt& attempt) const {
    for (Retries retries;;) {
      const auto before = renames();
      auto found = attempt();
      if (found || !is_elsewhere(found.error()) || !retries.are_left()) return found;
      if (is_steady_since(before)) return found;
      wait_for_renames();
    }
  }
  // Runs `attempt`, which lists a folder.  Runs it again if entries were renamed meanwhile: a name
  // that passes from one entry to another can be missing in a listing.
  template <class Attempt>
  auto between_renames(const Attempt& attempt) const {
    for (Retries retries;;) {
      const auto before = renames();
      auto result = attempt();
      if (is_steady_since(before) || !retries.are_left()) return result;
      wait_for_renames();
    }
  }
  // Returns after the renames that are under way now.
  void wait_for_renames() const {
    renaming_.with([](const Renaming&) {});
  }

 private:
  [[nodiscard]] Result<UniqueFd> open_at(const std::string& path, const Node& node, int flags,
                                         struct stat& st) const;
  [[nodiscard]] std::unexpected<Error> tell_removed() const;

  // Constant after construction.
  const SourceRoot root_;
  const std::string source_name_;  // for the log
  Log& log_;
  const SourceHandles* const handles_;
  // Self-synchronised.
  NodeTable nodes_;
  // Held during a rename in SOURCE and in `nodes_`: a thread that does not find a node waits for
  // it.
  struct Renaming {};
  Guarded<Renaming> renaming_;
  // Changed under the lock of `renaming_`.
  std::atomic<std::uint64_t> renames_begun_{0};
  std::atomic<std::uint64_t> renames_ended_{0};
};

// Whether `st` describes the file that the key names.
bool names_source(const NodeKey& key, const struct stat& st) noexcept;

}  // namespace framefs::fs
