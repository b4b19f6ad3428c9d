#pragma once

#include <cstdint>

namespace framefs::codec {

// The most memory that a caller grants to the directory of one container.  A larger directory is
// refused with Errc::over_limit before it is allocated.
struct ContainerLimits {
  std::uint64_t directory_bytes = 64u << 20;  // the central directory of an archive
  std::uint64_t members = 1u << 20;           // members of an archive, or embedded nodes
  std::uint64_t tree_nodes = 2u << 20;        // files and directories of the resulting tree
};

}  // namespace framefs::codec
