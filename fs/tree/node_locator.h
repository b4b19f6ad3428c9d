#pragma once

#include <memory>
#include <string>

#include "fs/core/guarded.h"
#include "fs/source/backing_file.h"
#include "fs/source/source_root.h"
#include "fs/tree/node.h"

namespace framefs::fs {

// Where nodes are in SOURCE, and opens them there.  A node is opened by the path at which it was seen
// last.  While it is being renamed, the caller waits; once it has lost its name, it is opened by the
// descriptor that was kept of it.
// Threads: any number.
class NodeLocator {
 public:
  // `root_key` is that of the node that SOURCE itself is.
  NodeLocator(SourceRoot root, const NodeKey& root_key, std::string source_name);

  [[nodiscard]] NodeTable& nodes() noexcept { return nodes_; }
  [[nodiscard]] const NodeTable& nodes() const noexcept { return nodes_; }
  [[nodiscard]] const SourceRoot& root() const noexcept { return root_; }
  [[nodiscard]] std::string name_for_log(const Node& node) const;

  // Opens what the node shows; `flags` are those of open(2).
  // Errors: system; ESTALE where it is nowhere, at which the kernel looks its name up anew.
  [[nodiscard]] Result<UniqueFd> open(const Node& node, int flags) const;
  // For reading, and as `access` says (O_RDWR) for writing; of what is in a container, the container.
  // Errors: likewise.
  [[nodiscard]] Result<BackingFile> open_file(const Node& node, int access = 0) const;

  // Runs `attempt`, which looks for a node where it was seen last, and once more where that failed
  // while something was being renamed.
  template <class Attempt>
  auto where_it_is(const Attempt& attempt) const {
    auto found = attempt();
    if (found || !is_elsewhere(found.error())) return found;
    renaming_.with([](const Renaming&) {});
    return attempt();
  }
  // Whether an error says that the node is not where it was seen last.
  static bool is_elsewhere(const Error& error) noexcept;
  // What is answered for a node that is nowhere.
  static std::unexpected<Error> missing(const Error& error);

  // Runs `rename`, () -> Status, which renames something in SOURCE and tells the table of nodes.
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
  // Held while something is renamed in SOURCE and in `nodes_`: a thread that finds a node missing
  // waits for it.
  struct Renaming {};
  Guarded<Renaming> renaming_;
};

// Whether `st` is of the file that the key names.
bool names_source(const NodeKey& key, const struct stat& st) noexcept;

}  // namespace framefs::fs
