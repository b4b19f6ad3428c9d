#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "fs/tree/nodes/node.h"

namespace framefs::fs {

// The path on which a node was last seen: each node has a name below its parent, up to the root,
// which has no parent.  A node without a place has none either, and its path is unknown.
//
// Invariant: a node keeps its parents, and no path leads through a node twice; whoever puts a node
// into a place asks leads_through() before, unless the node is new.
//
// Threads: one at a time; for the nodes of a table, under its lock.
class NodePath {
 public:
  // From now on, the path of the node is that of `parent`, and then `name`.  Returns the parent it
  // had.
  static std::shared_ptr<Node> put(Node& node, std::shared_ptr<Node> parent, std::string_view name);
  // Whether the last step of the node's path is `name` below `parent`.
  static bool ends_with(const Node& node, const std::shared_ptr<Node>& parent,
                        std::string_view name);
  // Whether the path of `below` leads through `node`, or to it.
  static bool leads_through(const Node& node, const Node& below);

  // The path as SourceRoot::open() takes it; `root_path` for the root.  Of a member of a container,
  // the path of the container.  Empty if it is unknown.
  static std::string text(const Node& node, const std::string& root_path);
  // The node of the container that a member is in; null if it is not on the path.
  static std::shared_ptr<Node> container_of(const Node& member);
};

}  // namespace framefs::fs
