#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <unordered_set>
#include <vector>

#include "fs/core/files/file.h"
#include "fs/tree/nodes/node.h"

namespace framefs::fs {

// The nodes that the kernel knows, by their numbers and by their keys.
//
// Invariant: a number or a key leads to one node at most.  Each node is found by its number.  Of
// several nodes with one key, versions of one file, the last one is found by the key; a node that
// has lost its key is found by its number only.
//
// Threads: one at a time.
class NodeIndex {
 public:
  using Nodes = std::vector<std::shared_ptr<Node>>;

  // The node of that number, or of that key; null if there is none.
  [[nodiscard]] std::shared_ptr<Node> find(NodeId id) const;
  [[nodiscard]] std::shared_ptr<Node> find(const NodeKey& key) const;
  // The nodes of a file, one for each way in which it is shown.
  [[nodiscard]] Nodes of(const FileKey& file) const;

  // From now on, the number and the key of `node` lead to it.
  // Lifetime: the caller keeps a node that had the number until it has released its lock.
  void add(std::shared_ptr<Node> node);
  // The same for a node that was forgotten meanwhile: a later version of the file keeps the key.
  // Returns false, and changes nothing, if the number leads to a node.
  bool restore(const std::shared_ptr<Node>& node);
  // From now on, `node` is found by its number only.
  void release_key(const Node& node);
  // Removes a node.  Lifetime: as for add().
  void remove(const Node& node);

 private:
  struct IdHash {
    using is_transparent = void;
    std::size_t operator()(NodeId id) const noexcept { return std::hash<NodeId>{}(id); }
    std::size_t operator()(const std::shared_ptr<Node>& node) const noexcept {
      return (*this)(node->id);
    }
  };
  struct IdEqual {
    using is_transparent = void;
    bool operator()(const std::shared_ptr<Node>& one, const std::shared_ptr<Node>& other) const {
      return one->id == other->id;
    }
    bool operator()(const std::shared_ptr<Node>& node, NodeId id) const { return node->id == id; }
    bool operator()(NodeId id, const std::shared_ptr<Node>& node) const { return node->id == id; }
  };
  struct KeyHash {
    using is_transparent = void;
    std::size_t operator()(const NodeKey& key) const noexcept { return NodeKeyHash{}(key); }
    std::size_t operator()(const Node* node) const noexcept { return NodeKeyHash{}(node->key); }
  };
  struct KeyEqual {
    using is_transparent = void;
    bool operator()(const Node* one, const Node* other) const { return one->key == other->key; }
    bool operator()(const Node* node, const NodeKey& key) const { return node->key == key; }
    bool operator()(const NodeKey& key, const Node* node) const { return node->key == key; }
  };

  std::unordered_set<std::shared_ptr<Node>, IdHash, IdEqual> by_id_;
  std::unordered_set<Node*, KeyHash, KeyEqual> by_key_;  // each is in `by_id_`
};

}  // namespace framefs::fs
