#pragma once

#include <cstddef>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "fs/core/files/file.h"
#include "fs/tree/nodes/node.h"
#include "fs/tree/nodes/position_table.h"

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
  using Position = PositionTable::Position;

  [[nodiscard]] std::optional<Position> position_of(NodeId id) const;
  [[nodiscard]] std::optional<Position> position_of(const NodeKey& key) const;
  [[nodiscard]] std::size_t id_hash(Position position) const;
  [[nodiscard]] std::size_t key_hash(Position position) const;
  // Appends a node whose number and key lead to no other.
  void append(std::shared_ptr<Node> node, bool has_key);
  // Moves the last node to this position.
  void drop(Position position);

  // In any order.  The node of a file takes less memory in these than in tables of nodes.
  std::deque<std::shared_ptr<Node>> nodes_;
  PositionTable by_id_;   // all nodes
  PositionTable by_key_;  // those that have their key
};

}  // namespace framefs::fs
