#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

#include "codec/core/result.h"
#include "fs/remote/remote_tree.h"
#include "src/warm/file_readers.h"

namespace framefs {

// Called with the bytes read so far.
using WarmTick = std::function<void(std::uint64_t)>;

// Adds files of a tree without a mount.  Lifetime: the tree outlives the readers.
class FarWalk {
 public:
  explicit FarWalk(fs::RemoteTree& tree) : tree_(tree) {}
  // Adds the file at a path, or all files below it.  A directory below it that cannot be listed is
  // reported to the readers.
  // Errors: those of finding the path, and of listing it.
  codec::Status add(const std::string& path, FileReaders& readers, const WarmTick& tick);

 private:
  void add_file(const std::string& path, fs::NodeId node, FileReaders& readers,
                const WarmTick& tick);

  fs::RemoteTree& tree_;
};

// The same for files of a mount.
class MountWalk {
 public:
  explicit MountWalk(std::filesystem::path mountpoint) : mountpoint_(std::move(mountpoint)) {}
  codec::Status add(const std::string& path, FileReaders& readers, const WarmTick& tick);

 private:
  const std::filesystem::path mountpoint_;
};

}  // namespace framefs
