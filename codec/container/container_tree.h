#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "codec/container/container_limits.h"
#include "codec/core/result.h"

namespace framefs::codec {

// The tree of directories and files that a list of paths implies.  A directory exists because some
// path leads through it.  If a path is both a file and a directory, the tree has the directory;
// conflicts() lists the file, which the caller reports.
// Immutable after make(); any number of threads may use it.
class ContainerTree {
 public:
  struct Leaf {
    std::string path;         // satisfies is_container_path()
    std::size_t payload = 0;  // the caller's own number for the file
  };

  // If several leaves have the same path, the last one counts.
  // Errors: over_limit above limits.tree_nodes.
  static Result<ContainerTree> make(std::vector<Leaf> leaves, const ContainerLimits& limits);

  // Identifies the root (0) and every node below it.
  using NodeId = std::uint32_t;
  static constexpr NodeId kRoot = 0;

  [[nodiscard]] std::size_t size() const noexcept { return nodes_.size(); }
  [[nodiscard]] bool is_directory(NodeId id) const { return nodes_[id].is_directory; }
  [[nodiscard]] NodeId parent(NodeId id) const {
    return nodes_[id].parent;
  }  // the root is its own parent
  // The name within the parent directory; empty for the root.
  [[nodiscard]] std::string_view name(NodeId id) const;
  // The caller's number for a file.
  [[nodiscard]] std::size_t payload(NodeId id) const { return leaves_[nodes_[id].leaf].payload; }

  // The entries of a directory are the nodes [first, first + count), sorted by the bytes of their
  // names.
  struct Children {
    NodeId first = 0;
    NodeId count = 0;
  };
  [[nodiscard]] Children children(NodeId directory) const {
    return {nodes_[directory].first_child, nodes_[directory].child_count};
  }
  // Nothing if there is no such name, or if `directory` is a file.
  [[nodiscard]] std::optional<NodeId> find_child(NodeId directory, std::string_view name) const;
  // The node at a path with single slashes; "" is the root.
  [[nodiscard]] std::optional<NodeId> find(std::string_view path) const;

  struct Conflict {
    NodeId directory = 0;  // the directory that has the name
    std::size_t payload = 0;
  };
  [[nodiscard]] std::span<const Conflict> conflicts() const noexcept { return conflicts_; }

 private:
  struct Node {
    NodeId parent = 0;
    NodeId first_child = 0;
    NodeId child_count = 0;
    std::uint32_t leaf = 0;  // the path of this leaf contains the name
    std::uint16_t name_at = 0;
    std::uint16_t name_size = 0;
    bool is_directory = false;
  };
  // The leaves [begin, end) below a directory that has not been filled yet.
  struct Span {
    std::size_t begin = 0;
    std::size_t end = 0;
  };

  ContainerTree() = default;
  void fill(NodeId directory, Span below, std::vector<Span>& spans);

  std::vector<Leaf> leaves_;  // sorted by path
  std::vector<Node> nodes_;
  std::vector<Conflict> conflicts_;
};

}  // namespace framefs::codec
