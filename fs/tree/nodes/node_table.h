#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "fs/core/files/file.h"
#include "fs/core/threads/guarded.h"
#include "fs/tree/nodes/forgotten_nodes.h"
#include "fs/tree/nodes/held_files.h"
#include "fs/tree/nodes/node.h"
#include "fs/tree/nodes/node_index.h"
#include "fs/tree/nodes/node_path.h"

namespace framefs::fs {

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
  // open and whose files have other names, only the last ones keep it (HeldFiles).
  void begin_removal(const FileKey& file, const Place& place,
                     const std::shared_ptr<const UniqueFd>& object);
  enum class Lost : std::uint8_t { nothing, one_name, all_names };
  void end_removal(const FileKey& file, const Place& place, Lost lost);
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
  struct State {
    NodeIndex known;
    NodeId next = kRootNode + 1;
    Moment now = 0;
    std::unordered_map<FileKey, unsigned, FileKeyHash> removals;  // under way, of names of the file
    HeldFiles held;
    ForgottenNodes forgotten;
  };
  static std::shared_ptr<Node> remembered(State& state, NodeId id);
  static std::shared_ptr<Node> live(const State& state, const NodeKey& key,
                                    std::uint32_t generation);
  static std::shared_ptr<Node> directory_above(const State& state, const std::vector<Step>& path);
  static std::shared_ptr<Node> enter(State& state, const NodeKey& key, NodeId number,
                                     std::optional<std::uint32_t> generation,
                                     std::shared_ptr<Node>& dropped);
  static std::optional<FileIdentity> version_of(const Node& node);
  static NodeIndex::Nodes change_names(State& state, const FileKey& file, const Place& place);

  const std::string root_path_;
  Guarded<State> state_;
};

}  // namespace framefs::fs
