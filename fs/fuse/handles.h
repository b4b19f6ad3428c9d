#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include <fuse_lowlevel.h>

#include "fs/core/guarded.h"
#include "fs/tree/filesystem.h"

namespace framefs::fuse {

// A directory that somebody reads: the listing is taken when reading starts, or starts over.
struct DirectoryHandle {
  std::unique_ptr<fs::OpenDirectory> directory;
  fs::Guarded<std::shared_ptr<const std::vector<fs::DirectoryEntry>>> listing;
};

// FUSE carries a handle as an integer; these two are the only places that convert.
template <class T>
std::uint64_t handle_of(T* object) noexcept {
  return reinterpret_cast<std::uintptr_t>(object);  // FUSE carries pointers as integers
}
template <class T>
T& object_of(const fuse_file_info& info) noexcept {
  return *reinterpret_cast<T*>(static_cast<std::uintptr_t>(info.fh));  // made by handle_of()
}

}  // namespace framefs::fuse
