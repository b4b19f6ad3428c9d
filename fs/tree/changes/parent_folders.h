#pragma once

#include <sys/stat.h>

#include <memory>
#include <optional>
#include <string>

#include "fs/source/folder.h"
#include "fs/tree/names/name_map.h"
#include "fs/tree/names/name_rules.h"
#include "fs/tree/nodes/node_folders.h"
#include "fs/tree/nodes/node_locator.h"
#include "fs/tree/source_tree.h"

namespace framefs::fs {

// A directory in which names change.
struct ParentFolder {
  std::shared_ptr<Node> node;
  std::unique_ptr<DiskFolder> folder;
  struct stat stat{};

  [[nodiscard]] int fd() const noexcept { return folder->fd(); }
};

// An entry of such a directory.
struct NamedEntry {
  const ParentFolder& parent;
  NameMap::Found found;
};

// Opens the directories in which names change, and finds names in them.
// Errors of all members: system; EROFS in a read-only mount or in a container; those of NameRules.
// Threads: any number.
class ParentFolders {
 public:
  // Lifetime: all referenced objects outlive the `ParentFolders`.
  ParentFolders(const SourceTree& tree, const NodeFolders& folders, const NameMap& names,
                const NameRules& rules)
      : tree_(tree), folders_(folders), names_(names), rules_(rules) {}

  [[nodiscard]] Result<ParentFolder> open(NodeId id) const;
  // Opens the directory of a node that has a name.
  [[nodiscard]] Result<ParentFolder> open_of(const Node& node) const;
  // Opens the directory in which the entry `new_name` is to be created.  Errors: EEXIST.
  [[nodiscard]] Result<ParentFolder> open_for_new(NodeId id, const std::string& new_name) const;

  // The entry that is shown as `name`; nothing if there is none.
  [[nodiscard]] Result<std::optional<NameMap::Found>> find_in(const Folder& folder,
                                                              const std::string& name) const;
  // The entry that is shown as `name`.  Its name may change.  Errors: ENOENT; EPERM.
  [[nodiscard]] Result<NamedEntry> entry(const ParentFolder& in, const std::string& name) const;
  // The entry that is shown as `name`, if it is the node.  Errors: ESTALE if it is not.
  [[nodiscard]] Result<NamedEntry> entry_of(const ParentFolder& in, const Node& node,
                                            const std::string& name) const;

  [[nodiscard]] const NameRules& rules() const noexcept { return rules_; }
  // Refuses a name that SOURCE would not show as it is asked for.
  [[nodiscard]] Status check_new_name(const ParentFolder& in, const std::string& name,
                                      ShownAs shown_as) const;
  // The path in SOURCE of a node, and that of a name in a directory.
  [[nodiscard]] std::string path_of(const Node& node) const {
    return tree_.locator().nodes().path_of(node);
  }
  [[nodiscard]] std::string path_of(const ParentFolder& in, const std::string& name) const {
    return path_in(path_of(*in.node), name);
  }

 private:
  [[nodiscard]] Result<ParentFolder> open(std::shared_ptr<Node> node) const;

  const SourceTree& tree_;
  const NodeFolders& folders_;
  const NameMap& names_;
  const NameRules& rules_;
};

}  // namespace framefs::fs
