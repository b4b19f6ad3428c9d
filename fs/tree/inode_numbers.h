#pragma once

#include <cstdint>
#include <vector>

#include "fs/core/guarded.h"

namespace framefs::fs {

// Inode numbers for one mount out of those of the several devices that SOURCE may span.  A file of
// SOURCE's own device keeps its number, so that numbers stay the same from mount to mount.
// Threads: any number.
class InodeNumbers {
 public:
  explicit InodeNumbers(std::uint64_t root_device) : root_device_(root_device) {}

  std::uint64_t shown(std::uint64_t device, std::uint64_t inode);

 private:
  const std::uint64_t root_device_;
  Guarded<std::vector<std::uint64_t>> others_;  // devices, in the order they were met
};

}  // namespace framefs::fs
