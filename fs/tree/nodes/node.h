#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "fs/core/files/file.h"
#include "fs/core/resources/compact_string.h"
#include "fs/core/threads/lazy_guarded.h"
#include "fs/read/content_id.h"
#include "fs/tree/nodes/exported_number.h"
#include "fs/tree/nodes/node_key.h"
#include "fs/tree/records/kernel_pages.h"
#include "fs/tree/records/lock_file_memo.h"
#include "fs/tree/records/open_handles.h"
#include "fs/tree/records/shown_content.h"
#include "fs/tree/records/told_state.h"

namespace framefs::fs {

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
  friend class NodePath;
  friend class HeldFiles;
  // Guarded by the table.
  std::shared_ptr<Node> parent_;        // null: the root, or a node that has no place
  CompactString name_;                  // in the source directory
  std::uint64_t lookups_ = 0;           // lookups that the kernel has not forgotten yet
  std::uint64_t names_changed_at_ = 0;  // when the mount last changed the names of the file
  // State that few nodes have: a file that was only looked up has none of it.
  struct Rare {
    std::shared_ptr<const UniqueFd> held;  // the object that lost that name: an O_PATH descriptor
    bool held_has_names = false;           // the object still has other names
    std::optional<FileIdentity> version;   // of a directory
  };
  std::unique_ptr<Rare> rare_;
  Rare& rare() {
    if (!rare_) rare_ = std::make_unique<Rare>();
    return *rare_;
  }
};

// The number of the container that `node` is, or is in.
inline NodeId container_number(const Node& node) {
  return node.key.is_member() ? node.key.container : node.id;
}

// The file of SOURCE that a node shows; for a member of a container, the container.
inline FileKey file_key(const Node& node) { return {node.key.device, node.key.inode}; }

}  // namespace framefs::fs
