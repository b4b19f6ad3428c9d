#pragma once

#include <atomic>
#include <cstdint>
#include <ctime>
#include <deque>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "fs/core/file.h"
#include "fs/core/lazy_guarded.h"
#include "fs/read/content_id.h"
#include "fs/tree/exported_number.h"
#include "fs/tree/forgotten_nodes.h"
#include "fs/tree/kernel_pages.h"
#include "fs/tree/lock_file_memo.h"
#include "fs/tree/node_key.h"
#include "fs/tree/open_handles.h"
#include "fs/tree/shown_content.h"

namespace framefs::fs {

// The state of a file that the kernel was told of.
// Threads: any number.
class ToldState {
 public:
  // From now on, the kernel knows the state `identity`.
  void set(const FileIdentity& identity) noexcept;
  // From now on, the kernel knows the state for which is() is called next.
  void reset() noexcept;
  void reset_if_wrong() noexcept;
  // Whether `identity` has the inode, the size and the mtime of the state that the kernel knows.
  [[nodiscard]] bool is(const FileIdentity& identity) noexcept;
  // Notes that the file has another state.  Returns whether this is new since set() or reset().
  [[nodiscard]] bool note_change() noexcept {
    return (state_.fetch_or(kIsWrong, std::memory_order_relaxed) & kIsWrong) == 0;
  }

 private:
  static constexpr std::uint64_t kIsKnown = 1;
  static constexpr std::uint64_t kIsWrong = 2;  // see note_change()
  // The two marks, and a hash of the state, so that all parts change together.  Without kIsKnown,
  // it is the next state.  Relaxed: no other data depends on it.
  std::atomic<std::uint64_t> state_{0};
};

// A file that the kernel knows.  A walk through SOURCE makes one for each file, so what few nodes
// need is behind a pointer.
struct Node {
  Node(NodeId node_id, const NodeKey& node_key,
       std::optional<std::uint32_t> node_generation = std::nullopt)
      : id(node_id), key(node_key), generation(node_generation) {}

  // Constant after construction.
  const NodeId id;
  const NodeKey key;
  // The generation in the file handles of the node; empty: that of the mount.
  const std::optional<std::uint32_t> generation;

  // Whether the node's handles outlive the mount: they are made of the inode and the generation of
  // its file (exported_number.h).
  [[nodiscard]] bool is_exported() const noexcept {
    return generation && exported_number(key) == id;
  }

  // Each record has a header of its own, and one owner that changes it.  They are under one lock,
  // because answers combine them.
  struct State {
    OpenHandles handles;
    ShownContent content;
    KernelPages pages;
    LockFileMemo lock_file;
  };
  // Most nodes are only looked up, and have no state.
  LazyGuarded<State> state;

  // The id of the content state that `identity` describes: a new id if the state has changed.
  ContentId content_id(const FileIdentity& identity, ContentIds& ids);

  // Of an immutable mount: the state of the backing file that the kernel knows, and for which it
  // may cache bytes and attributes.  A member of a container gets the container's when it is read
  // first.
  ToldState told;

 private:
  friend class NodeTable;
  // Guarded by the table.
  std::shared_ptr<Node> parent_;        // null: the root, or a node that has no place
  CompactString name_;                  // in the source directory
  std::uint64_t lookups_ = 0;           // lookups that the kernel has not forgotten yet
  std::uint64_t names_changed_at_ = 0;  // when the mount last changed the names of the file
  // The object that lost that name.
  struct Held {
    std::shared_ptr<const UniqueFd> object;  // an O_PATH descriptor
    bool has_names = false;                  // the object still has other names
  };
  std::unique_ptr<Held> held_;                   // few nodes have it
  std::unique_ptr<const FileIdentity> version_;  // of a directory
};

// The number of the container that `node` is, or is in.
inline NodeId container_number(const Node& node) {
  return node.key.is_member() ? node.key.container : node.id;
}

// The file of SOURCE that a node shows; for a member of a container, the container.
inline FileKey file_key(const Node& node) { return {node.key.device, node.key.inode}; }

// All nodes that the kernel knows, and some that it has forgotten.
//
// Invariant: as far as the mount itself changes names, a node has either a place that leads to its
// file or a descriptor of the file.  Lookups in flight must not break it: a lookup may have found a
// name that is gone when the lookup ends.
//
// Threads: any number.
class NodeTable {
 public:
  NodeTable(const NodeKey& root, std::string root_path);

  // A moment in the history of the table, which advances when the mount changes names.
  using Moment = std::uint64_t;
  static constexpr Moment kLastMoment = std::numeric_limits<Moment>::max();
  [[nodiscard]] Moment now() const;

  [[nodiscard]] std::shared_ptr<Node> root() const;
  // The node of `key`, or null if there is none.
  [[nodiscard]] std::shared_ptr<Node> find(const NodeKey& key) const;
  // Errors: system, ESTALE for a number that the kernel should have forgotten.
  Result<std::shared_ptr<Node>> find(NodeId id) const;

  // The node of `key`, found as `name` below `parent`.  Creates the node if there is none; a node
  // that the kernel has forgotten gets its number again.  Counts one lookup.
  //
  // `since` is the value of now() before SOURCE was asked for the name.  If the mount has changed
  // the names of the file since then, or is removing one, this name may be gone, and a known node
  // stays where it is.
  //
  // `version` tells directories of one inode apart: it is the state of a container's file, or the
  // birth of a directory, if it is known.  A directory of another version is another node, because
  // the kernel may still cache the names and attributes of the entries of the old one.
  //
  // With the `generation` of the file, the node gets the number that outlives the mount
  // (exported_number.h), if its key has one.  A file of another generation is another node of that
  // number, to which the kernel gives another inode.
  std::shared_ptr<Node> lookup(const std::shared_ptr<Node>& parent, const std::string& name,
                               const NodeKey& key,
                               const std::optional<FileIdentity>& version = std::nullopt,
                               std::optional<std::uint32_t> generation = std::nullopt,
                               Moment since = kLastMoment);

  // The node of that number, also if the kernel has forgotten it lately.  Counts one lookup.
  // Errors: system, ESTALE, also for a file that has lost its name.
  Result<std::shared_ptr<Node>> recall(NodeId id);
  // A step of a path from the root to a file.
  struct Step {
    NodeKey key;
    std::uint32_t generation = 0;
    std::string name;  // in the source directory
  };
  // The node of an exported file that was found by its handle.  `path` ends with the file; it is
  // empty if the path is not known, and the node then has no place.  Counts one lookup.
  // Errors: system, ESTALE if the file's node has another number.
  Result<std::shared_ptr<Node>> adopt(const NodeKey& key, std::uint32_t generation,
                                      const std::vector<Step>& path);
  // The number of the directory in which the node was last seen; for the root, the root's.
  [[nodiscard]] NodeId parent_of(const Node& node) const;

  // Subtracts `lookups` from the node's count; removes the node at zero, and then returns its file.
  std::optional<FileKey> forget(NodeId id, std::uint64_t lookups);
  // A node of the file that is open; null if there is none.
  [[nodiscard]] std::shared_ptr<Node> find_open(const FileKey& file) const;
  // Whether the kernel knows a node of the file.
  [[nodiscard]] bool knows(const FileKey& file) const;

  // One name of a source file.
  struct Place {
    std::shared_ptr<Node> parent;
    std::string name;
  };
  // Call this after a file was renamed: its nodes that were last seen at `from` are now at `to`.
  void move(const FileKey& file, const Place& from, const Place& to);
  // Call the first before a file loses the name `place`, and the second afterwards.  The nodes that
  // were last seen there keep `object`, an O_PATH descriptor, until they are seen under another
  // name or forgotten, or until the end if the file has kept its name.  Of the nodes that are not
  // open and whose files have other names, only the last kMaxHeldLinks keep it: the kernel finds
  // the file again by one of these names.
  void begin_removal(const FileKey& file, const Place& place,
                     const std::shared_ptr<const UniqueFd>& object);
  enum class Lost : std::uint8_t { nothing, one_name, all_names };
  void end_removal(const FileKey& file, const Place& place, Lost lost);
  static constexpr std::size_t kMaxHeldLinks = 1024;
  // From now on, the number of the node `from` leads to a new node of the file `to`, which has, or
  // gets, the same bytes and the place `place`.  Does nothing if there is no such node.
  void replace(const NodeKey& from, const NodeKey& to, const Place& place);
  // From now on, a lookup of the node's file enters another node, which is another file to the
  // kernel.  The handles of `node` stay.
  void detach(const Node& node);
  // The descriptor kept for a node that has lost its name; null for other nodes.
  [[nodiscard]] std::shared_ptr<const UniqueFd> held(const Node& node) const;

  // Where the node was last seen.  `node` is not the root.  Without a parent if the node was only
  // found by its handle so far.
  [[nodiscard]] Place place_of(const Node& node) const;
  // The path at which the node was last seen, for SourceRoot::open(); for a member of a container,
  // the path of the container.  Empty if the node was only found by its handle so far.
  [[nodiscard]] std::string path_of(const Node& node) const;
  // Where a node can be found.
  struct Whereabouts {
    std::string path;                      // as path_of() returns it
    std::shared_ptr<const UniqueFd> held;  // as held() returns it
    Moment names_changed_at = 0;
    bool operator==(const Whereabouts&) const = default;
  };
  [[nodiscard]] Whereabouts whereabouts(const Node& node) const;
  // The node of the container that a member is in; null if the table no longer has it.
  [[nodiscard]] std::shared_ptr<Node> container_of(const Node& member) const;

 private:
  // The nodes of a set, by their numbers, and by their keys.
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
  struct State {
    std::unordered_set<std::shared_ptr<Node>, IdHash, IdEqual> by_id;
    std::unordered_set<Node*, KeyHash, KeyEqual> by_key;  // each is in `by_id`
    NodeId next = kRootNode + 1;
    Moment now = 0;
    std::unordered_map<FileKey, unsigned, FileKeyHash> removals;  // under way, of names of the file
    std::deque<std::weak_ptr<Node>> held_links;  // the oldest first; files that have other names
    ForgottenNodes forgotten;
  };
  static std::shared_ptr<Node> with_id(const State& state, NodeId id);
  static std::shared_ptr<Node> with_key(const State& state, const NodeKey& key);
  static void set_key(State& state, Node& node);
  static std::shared_ptr<const UniqueFd> held_by(const Node& node);
  static std::shared_ptr<const UniqueFd> take_held(Node& node);
  static std::shared_ptr<Node> remembered(State& state, NodeId id);
  static std::shared_ptr<Node> live(const State& state, const NodeKey& key,
                                    std::uint32_t generation);
  static std::shared_ptr<Node> directory_above(const State& state, const std::vector<Step>& path);
  static std::shared_ptr<Node> enter(State& state, const NodeKey& key, NodeId number,
                                     std::optional<std::uint32_t> generation,
                                     std::shared_ptr<Node>& dropped);
  static bool is_above(const Node& node, const Node& below);
  using Nodes = std::vector<std::shared_ptr<Node>>;
  static Nodes nodes_of(const State& state, const FileKey& file);
  static Nodes change_names(State& state, const FileKey& file, const Place& place);
  // Objects that are destroyed after the lock.
  using Dropped = std::vector<std::shared_ptr<const void>>;
  static void release_oldest_links(State& state, Dropped& dropped);
  [[nodiscard]] std::string path_in_table(const Node& node) const;

  const std::string root_path_;
  Guarded<State> state_;
};

}  // namespace framefs::fs
