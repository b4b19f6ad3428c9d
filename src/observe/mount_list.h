#pragma once

#include <filesystem>
#include <future>
#include <optional>
#include <string>
#include <vector>

#include "codec/core/result.h"
#include "fs/core/files/mount_table.h"

namespace framefs {

// A mount of framefs in the kernel's list.
struct FramefsMount : fs::MountTableEntry {
  bool is_read_only = false;
  bool was_read_only = false;  // mounted read-only, so that its daemon changes nothing
};

// Returns the mounts that this process can see, the oldest first.  A mount with a --subtype of its
// own is found if /proc shows its daemon, or if the daemon answers this user within a second.
std::vector<FramefsMount> framefs_mounts();

// Returns the mount at a path as mount lists show it; nothing if a mount of another filesystem lies
// over it.
std::optional<FramefsMount> framefs_mount_at(const std::filesystem::path& mountpoint);

// Returns the path, in the form of mount lists, of the mount that a user names.  A link is followed
// only if it has no mount at its own name.
std::filesystem::path place_of_mount(const std::string& path);

// Asks the daemon of one mount for its statistics, again and again.  As long as a daemon hangs, no
// further question is sent: each has a thread that waits for the answer.
// Threads: one.
class StatsQuestions {
 public:
  explicit StatsQuestions(std::filesystem::path mountpoint);
  // Errors: as read_stats().
  codec::Result<std::string> ask();

 private:
  const std::filesystem::path mountpoint_;
  std::future<codec::Result<std::string>> open_;  // the last question, if it has no answer
};

// Returns the statistics of a mount, one JSON object.  Root gets those of every user's mounts.
// Errors: system: ENODATA if the path is not a mount of framefs; EPERM or EACCES for a mount of
// another user; ENOTCONN if the daemon is gone; ETIMEDOUT if it does not answer; EPROTO if it gives
// something else.
codec::Result<std::string> read_stats(const std::filesystem::path& mountpoint);

// Returns the last lines of a mount's log, the oldest first.  Errors: as read_stats().
codec::Result<std::vector<std::string>> read_log(const std::filesystem::path& mountpoint);

// The message about an error of the two.
std::string no_answer_text(const std::string& mountpoint, const codec::Error& error);

}  // namespace framefs
