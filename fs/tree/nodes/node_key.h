#pragma once

#include <cstddef>
#include <cstdint>

#include "fs/core/resources/compact_string.h"
#include "fs/tree/names/shown_names.h"

namespace framefs::fs {

using NodeId = std::uint64_t;
inline constexpr NodeId kRootNode = 1;  // FUSE's number for the root, too

// The identity of a shown file: the file in SOURCE, how it is shown, and, for a member of a
// container, its path there.  Two names with equal keys are the same file.
struct NodeKey {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  ShownAs shown_as = ShownAs::itself;
  // Found by the full name of a frame that is listed under a shorter name (NameMap::Found).  This
  // is a node of its own so that opening it can be refused to writers: the copy of a frame into
  // the mount would otherwise replace the decoded bytes by those of the copied file.
  bool by_full_name = false;
  // The path in the container that the source file is; empty for the file itself.
  CompactString member{};
  NodeId container = 0;  // of a member: the node of its container
  bool operator==(const NodeKey&) const = default;

  [[nodiscard]] bool is_member() const noexcept { return !member.empty(); }
  [[nodiscard]] bool shows_frame() const noexcept {
    return shown_as == ShownAs::frame || is_array(shown_as);
  }
  // Whether the node is shown as a file whose bytes come from a View.
  [[nodiscard]] bool has_view() const noexcept {
    return shows_frame() || (shown_as == ShownAs::itself && is_member());
  }
};

struct NodeKeyHash {
  std::size_t operator()(const NodeKey& key) const noexcept;
};

}  // namespace framefs::fs
