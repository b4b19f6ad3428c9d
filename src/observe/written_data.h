#pragma once

#include <sys/types.h>

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "fs/core/files/file.h"

namespace framefs {

// The answer of a daemon to commit_written_data().
struct WrittenData {
  std::vector<std::string> lost;  // files whose bytes are lost or cannot be committed
  bool has_more = false;          // there are other such files
};

// A second way to a mount, which neither keeps the mount busy nor ends with it.
class MountLink {
 public:
  // Has no way if the caller has not the right to make one.  Sends no request to the daemon.
  explicit MountLink(const std::filesystem::path& mountpoint);
  [[nodiscard]] bool is_open() const noexcept { return static_cast<bool>(tree_); }
  [[nodiscard]] std::filesystem::path path() const { return fs::path_of_fd(tree_.get()); }

 private:
  fs::UniqueFd tree_;
};

// Has the daemon commit everything durably.  `mount` is a path of the mount's root.  Nothing if the
// daemon does not answer or is of an earlier version.
std::optional<WrittenData> commit_written_data(const std::filesystem::path& mount);

// Describes the process or mount that keeps a mount of this device alive after it was unmounted, as
// a clause.  Nothing if the mount has ended.
std::optional<std::string> keeper_of_mount(dev_t device);

}  // namespace framefs
