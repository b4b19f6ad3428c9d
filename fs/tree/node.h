#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>

#include "fs/core/file.h"
#include "fs/core/guarded.h"
#include "fs/read/content_id.h"
#include "fs/tree/shown_names.h"
#include "fs/view/view.h"

namespace framefs::fs {

using NodeId = std::uint64_t;
inline constexpr NodeId kRootNode = 1;  // FUSE's number for the root, too

// What makes two names the same file: the source file, how it is shown, and for what is inside a
// store, where in it.
struct NodeKey {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  ShownAs shown_as = ShownAs::itself;
  std::string
      member;  // the path in the container that the source file is; empty for the file itself
  bool operator==(const NodeKey&) const = default;

  [[nodiscard]] bool is_member() const noexcept { return !member.empty(); }
  [[nodiscard]] bool shows_frame() const noexcept {
    return shown_as == ShownAs::frame || shown_as == ShownAs::array || shown_as == ShownAs::npy;
  }
  // Shown as a file whose bytes are a View's.
  [[nodiscard]] bool has_view() const noexcept {
    return shows_frame() || (shown_as == ShownAs::itself && is_member());
  }
};

// A file that the kernel knows.
struct Node {
  Node(NodeId node_id, const NodeKey& node_key) : id(node_id), key(node_key) {}

  // Constant after construction.
  const NodeId id;
  const NodeKey key;

  // What is open of a file, and in which state its source was seen last.
  struct State {
    std::shared_ptr<const View> view;  // of that state; null while nothing is open
    std::uint64_t open_handles = 0;
    FileIdentity identity;      // the state that `content_id` stands for
    ContentId content_id;       // of that state
    FileIdentity kernel_pages;  // the state whose bytes the kernel may still hold
    // While the file is being written: how it is seen, and the ids of the sessions (0: none) whose
    // bytes that view shows and the kernel may hold.
    std::shared_ptr<const View> overlay_view;
    std::uint64_t overlay_view_of = 0;
    std::uint64_t kernel_pages_of = 0;
  };
  Guarded<State> state;

  // The id of the state of its content that `identity` tells: a new one where it was another.
  ContentId content_id(const FileIdentity& identity, ContentIds& ids);

 private:
  friend class NodeTable;
  // Guarded by the table.
  std::shared_ptr<Node> parent_;          // null: the root
  std::string name_;                      // in the source directory
  std::uint64_t lookups_ = 0;             // that the kernel has not yet forgotten
  std::shared_ptr<const UniqueFd> held_;  // what lost that name, by O_PATH
};

// The file of SOURCE that a node shows; of what is in a container, the container.
inline FileKey file_key(const Node& node) { return {node.key.device, node.key.inode}; }

// All nodes that the kernel knows.  Threads: any number.
class NodeTable {
 public:
  NodeTable(const NodeKey& root, std::string root_path);

  [[nodiscard]] std::shared_ptr<Node> root() const;
  // The node of `key`, where there is one; null otherwise.
  [[nodiscard]] std::shared_ptr<Node> find(const NodeKey& key) const;
  // Errors: system, ESTALE for a number the kernel should not know any more.
  Result<std::shared_ptr<Node>> find(NodeId id) const;

  // The node of `key`, seen as `name` below `parent`, made where it is new; counts one lookup.
  std::shared_ptr<Node> lookup(const std::shared_ptr<Node>& parent, const std::string& name,
                               const NodeKey& key);

  // Takes back `lookups`; a node of which none are left is dropped.
  void forget(NodeId id, std::uint64_t lookups);

  // A name that a source file has.
  struct Place {
    std::shared_ptr<Node> parent;
    std::string name;
  };
  // To be called when a file has been renamed: its nodes that were seen last at `from` are at `to`.
  void move(const FileKey& file, const Place& from, const Place& to);
  // To be called before a file loses a name: its nodes that were seen last there keep `object`, an
  // O_PATH descriptor, until they are seen under another name, or forgotten.  Null takes it back.
  void hold(const FileKey& file, const Place& place, const std::shared_ptr<const UniqueFd>& object);
  // What is kept of a node that has lost its name; null for others.
  [[nodiscard]] std::shared_ptr<const UniqueFd> held(const Node& node) const;

  // Where the node was seen last, for SourceRoot::open(); of what is inside a container, where that is.
  [[nodiscard]] std::string path_of(const Node& node) const;
  // The node of the container that a member is in; null where the table knows none any more.
  [[nodiscard]] std::shared_ptr<Node> container_of(const Node& member) const;

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
  template <class Change>
  void change_nodes_at(const FileKey& file, const Place& place, const Change& change);

  const std::string root_path_;
  Guarded<State> state_;
};

}  // namespace framefs::fs
