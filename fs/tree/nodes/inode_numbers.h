#pragma once

#include <cstdint>
#include <vector>

#include "fs/core/threads/guarded.h"

namespace framefs::fs {

// Maps the inode numbers of the devices that SOURCE spans to inode numbers of one mount.  A file on
// SOURCE's own device keeps its number, so its number is the same in every mount.
// Threads: any number.
class InodeNumbers {
 public:
  explicit InodeNumbers(std::uint64_t root_device) : root_device_(root_device) {}

  std::uint64_t shown(std::uint64_t device, std::uint64_t inode);

 private:
  const std::uint64_t root_device_;
  Guarded<std::vector<std::uint64_t>> others_;  // devices, in the order of first use
};

}  // namespace framefs::fs
