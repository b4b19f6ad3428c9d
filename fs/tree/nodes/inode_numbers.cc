#include "fs/tree/nodes/inode_numbers.h"

#include <algorithm>

namespace framefs::fs {

std::uint64_t InodeNumbers::shown(std::uint64_t device, std::uint64_t inode) {
  if (device == root_device_) return inode;
  const auto nth = others_.with([&](auto& devices) {
    const auto at = std::ranges::find(devices, device);
    const auto index = static_cast<std::uint64_t>(at - devices.begin());
    if (at == devices.end()) devices.push_back(device);
    return index + 1;
  });
  // Filesystems number upwards from small values: the high bits are free to tell devices apart.
  constexpr unsigned kDeviceShift = 48;
  return inode ^ (nth << kDeviceShift);
}

}  // namespace framefs::fs
