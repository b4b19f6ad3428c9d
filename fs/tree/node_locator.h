#pragma once

#include <memory>
#include <string>

#include "fs/core/guarded.h"
#include "fs/source/backing_file.h"
#include "fs/source/source_root.h"
#include "fs/tree/node.h"

namespace framefs::fs {

// Locates nodes in SOURCE and opens them.  A node is opened by the path at which it was last seen.
// While the node is being renamed, the caller waits.  After the node has lost its name, it is
// opened by the descriptor that NodeTable keeps.
// Threads: any number.
class NodeLocator {
 public:
  // `root_key` is the key of the node for SOURCE itself.
  NodeLocator(SourceRoot root, const NodeKey& root_key, std::string source_name);

  [[nodiscard]] NodeTable& nodes() noexcept { return nodes_; }
  [[nodiscard]] const NodeTable& nodes() const noexcept { return nodes_; }
  [[nodiscard]] const SourceRoot& root() const noexcept { return root_; }
  [[nodiscard]] std::string name_for_log(const Node& node) const;

  // Opens the file that the node shows; `flags` are those of open(2).
  // Errors: system; ESTALE if the node is not found, which makes the kernel look its name up again.
  [[nodiscard]] Result<UniqueFd> open(const Node& node, int flags) const;
  // Opens the backing file for reading, and for writing if `access` is O_RDWR.  For a member of a
  // container, opens the container.  Errors: those of open().
  [[nodiscard]] Result<BackingFile> open_file(const Node& node, int access = 0) const;

  // Runs `attempt`, which looks for a node at its last known path.  If the node is not there,
  // waits for a rename in progress and runs `attempt` again.
  template <class Attempt>
  auto where_it_is(const Attempt& attempt) const {
    auto found = attempt();
    if (found || !is_elsewhere(found.error())) return found;
    renaming_.with([](const Renaming&) {});
    return attempt();
  }
  // Whether the error says that the node is not at its last known path.
  static bool is_elsewhere(const Error& error) noexcept;
  // The error for a node that is not found.
  static std::unexpected<Error> missing(const Error& error);

  // Runs `rename`, () -> Status, which renames an entry in SOURCE and updates the table of nodes.
  template <class Rename>
  Status renaming(const Rename& rename) {
    return renaming_.with([&](Renaming&) { return rename(); });
  }

 private:
  [[nodiscard]] Result<UniqueFd> open_place(const Node& node, int flags) const;

  // Constant after construction.
  const SourceRoot root_;
  const std::string source_name_;  // for the log
  // Self-synchronised.
  NodeTable nodes_;
  // Held during a rename in SOURCE and in `nodes_`: a thread that does not find a node waits for
  // it.
  struct Renaming {};
  Guarded<Renaming> renaming_;
};

// Whether `st` describes the file that the key names.
bool names_source(const NodeKey& key, const struct stat& st) noexcept;

}  // namespace framefs::fs
