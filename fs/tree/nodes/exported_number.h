#pragma once

#include <cstdint>
#include <optional>

#include "fs/tree/nodes/node_key.h"

namespace framefs::fs {

// The number of a node whose file handles outlive the mount (--export): the inode number of its
// file, and the form in which the file is shown.  Empty for a node that cannot be found by such a
// number: a container and its members, a file found by its full name, and an inode number that is
// too large.  The key must be that of a file on SOURCE's device.
[[nodiscard]] std::optional<NodeId> exported_number(const NodeKey& key) noexcept;

// The file for which a number stands.
struct ExportedFile {
  std::uint64_t inode = 0;
  ShownAs shown_as = ShownAs::itself;
};
// Empty if exported_number() does not return such a number.
[[nodiscard]] std::optional<ExportedFile> exported_file(NodeId number) noexcept;

}  // namespace framefs::fs
