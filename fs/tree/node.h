#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>

#include "fs/core/file.h"
#include "fs/core/guarded.h"
#include "fs/view/frame_view.h"

namespace framefs::fs {

using NodeId = std::uint64_t;
inline constexpr NodeId kRootNode = 1;  // FUSE's number for the root, too

// What makes two names the same file: the source file, and how it is shown.
struct NodeKey {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  bool is_frame = false;
  bool operator==(const NodeKey&) const = default;
};

// A file that the kernel knows.
struct Node {
  Node(NodeId node_id, const NodeKey& node_key) : id(node_id), key(node_key) {}

  // Constant after construction.
  const NodeId id;
  const NodeKey key;

  // What is open of a frame.
  struct FrameState {
    std::shared_ptr<const FrameView> view;  // of the state read last; null while nothing is open
    std::uint64_t open_handles = 0;
    FileIdentity identity;       // the state that `state_id` stands for
    std::uint64_t state_id = 0;  // 0: none yet
    FileIdentity kernel_pages;   // the state whose bytes the kernel may still hold
  };
  Guarded<FrameState> frame;

 private:
  friend class NodeTable;
  // Guarded by the table.
  std::shared_ptr<Node> parent_;  // null: the root
  std::string name_;              // in the source directory
  std::uint64_t lookups_ = 0;     // that the kernel has not yet forgotten
};

// All nodes that the kernel knows.  Threads: any number.
class NodeTable {
 public:
  NodeTable(const NodeKey& root, std::string root_path);

  // Errors: system, ESTALE for a number the kernel should not know any more.
  Result<std::shared_ptr<Node>> find(NodeId id) const;

  // The node of `key`, seen as `name` below `parent`, made where it is new; counts one lookup.
  std::shared_ptr<Node> look_up(const std::shared_ptr<Node>& parent, const std::string& name,
                                const NodeKey& key);

  // Takes back `lookups`; a node of which none are left is dropped.
  void forget(NodeId id, std::uint64_t lookups);

  // Where the node was seen last, for SourceRoot::open().
  [[nodiscard]] std::string path_of(const Node& node) const;

 private:
  struct KeyHash {
    std::size_t operator()(const NodeKey& key) const noexcept;
  };
  struct State {
    std::unordered_map<NodeId, std::shared_ptr<Node>> by_id;
    std::unordered_map<NodeKey, NodeId, KeyHash> by_key;
    NodeId next = kRootNode + 1;
  };
  static bool is_above(const Node& node, const Node& below);

  const std::string root_path_;
  Guarded<State> state_;
};

}  // namespace framefs::fs
