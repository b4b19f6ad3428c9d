#pragma once

#include <cstdint>

namespace framefs::fuse {

// A number that differs from mount to mount and is not 0.  The kernel puts it into the file handles
// of the mount.  A handle of an earlier mount is therefore not taken for a file of this one, whose
// nodes have the same numbers.
std::uint32_t new_generation();

}  // namespace framefs::fuse
