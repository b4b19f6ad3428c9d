#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <optional>
#include <string>
#include <unordered_map>

#include "fs/tree/nodes/node_key.h"

namespace framefs::fs {

// The nodes that the kernel has forgotten lately.  A file handle, as an NFS server gives them out,
// holds the number of a node; the kernel looks the number up again when the handle is used.
// The oldest nodes are dropped.
// Threads: one at a time.
class ForgottenNodes {
 public:
  // The limit of memory: about 30,000 nodes.  Units: bytes.
  static constexpr std::size_t kMaxBytes = 8u << 20;

  struct Node {
    NodeId id = 0;
    NodeKey key;
    NodeId parent = 0;
    std::string name;  // in the source directory
    std::optional<std::uint32_t> generation{};
  };
  // A node of the same number or key is dropped.
  void add(Node node);
  // Returns the node and makes it the newest; null if it is not known.  The result is valid until
  // the next call.
  const Node* find(NodeId id);
  // Removes the node of that number.
  void remove(NodeId id);
  // Removes the node of `key`.  Returns its number if the node was last seen as `name` below
  // `parent`.  If it was not, the file may be another one that got the same inode.
  std::optional<NodeId> take(const NodeKey& key, NodeId parent, const std::string& name);

  [[nodiscard]] std::size_t size() const noexcept { return nodes_.size(); }

 private:
  using Nodes = std::list<Node>;  // the newest first
  static std::size_t cost_of(const Node& node) noexcept;
  void remove(Nodes::iterator at);

  std::size_t bytes_ = 0;
  Nodes nodes_;
  std::unordered_map<NodeId, Nodes::iterator> by_id_;
  std::unordered_map<NodeKey, Nodes::iterator, NodeKeyHash> by_key_;
};

}  // namespace framefs::fs
