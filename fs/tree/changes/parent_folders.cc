#include "fs/tree/changes/parent_folders.h"

#include <fcntl.h>

#include <cerrno>
#include <utility>

namespace framefs::fs {

Result<ParentFolder> ParentFolders::open(NodeId id) const {
  FRAMEFS_TRY(auto node, tree_.find(id));
  return open(std::move(node));
}

Result<ParentFolder> ParentFolders::open(std::shared_ptr<Node> node) const {
  ParentFolder parent;
  parent.node = std::move(node);
  FRAMEFS_CHECK(tree_.check_writable(*parent.node));
  const auto shown_as = parent.node->key.shown_as;
  if (shown_as == ShownAs::single_entry) return system_error_of(EPERM, "directory");
  FRAMEFS_TRY(auto opened, folders_.open_on_disk(*parent.node, O_PATH));
  parent.folder = std::move(opened.folder);
  parent.stat = opened.stat;
  return parent;
}

Result<ParentFolder> ParentFolders::open_of(const Node& node) const {
  return open(tree_.locator().nodes().place_of(node).parent);
}

Result<ParentFolder> ParentFolders::open_for_new(NodeId id, const std::string& new_name) const {
  FRAMEFS_TRY(auto parent, open(id));
  FRAMEFS_TRY(const auto there, find_in(*parent.folder, new_name));
  if (there) return system_error_of(EEXIST, "name");
  FRAMEFS_CHECK(check_new_name(parent, new_name, ShownAs::itself));
  return parent;
}

Result<std::optional<NameMap::Found>> ParentFolders::find_in(const Folder& folder,
                                                             const std::string& name) const {
  auto found = names_.find(folder, name);
  if (found) return std::optional(std::move(*found));
  if (found.error().sys == ENOENT) return std::optional<NameMap::Found>();
  return std::unexpected(found.error());
}

Result<NamedEntry> ParentFolders::entry(const ParentFolder& in, const std::string& name) const {
  FRAMEFS_TRY(auto found, names_.find(*in.folder, name));
  FRAMEFS_CHECK(rules_.check_listed(name, found));
  return NamedEntry{in, std::move(found)};
}

Result<NamedEntry> ParentFolders::entry_of(const ParentFolder& in, const Node& node,
                                           const std::string& name) const {
  FRAMEFS_TRY(auto found, names_.find(*in.folder, name));
  const bool is_node =
      found.shown_as == node.key.shown_as && file_key(found.entry) == file_key(node);
  if (!is_node || !found.is_listed) return system_error_of(ESTALE, "lookup");
  return NamedEntry{in, std::move(found)};
}

Status ParentFolders::check_new_name(const ParentFolder& in, const std::string& name,
                                     ShownAs shown_as) const {
  return rules_.check_new(path_of(*in.node), name, in.folder->expected(name), shown_as);
}

}  // namespace framefs::fs
