#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "fs/core/files/file.h"

namespace framefs::fs {

// The pause between two attempts to take a lock: the first one, and the longest.  Each is twice as
// long as the one before.
inline constexpr std::chrono::milliseconds kFirstLockPause{1};
inline constexpr std::chrono::milliseconds kLongestLockPause{20};

// A process that holds a lock on the file of `fd`: an open-file-description lock on byte `byte`,
// or, without `byte`, a lock of flock(2).  Returns nothing if the system does not tell.
//
// The holder of an open-file-description lock is found among the descriptors of all processes.  The
// system shows these only of processes that the caller may inspect: a daemon in its sandbox sees
// none but its own.
// The call reads /proc alone, and a bounded part of it, so it does not wait for other file systems.
// It may take milliseconds: it is meant for a refusal after a wait.
// Threads: any.  Source: proc_locks(5), proc_pid_fdinfo(5).
[[nodiscard]] std::optional<pid_t> lock_holder(int fd, std::optional<std::uint64_t> byte);

// The error of a wait for such a lock: EBUSY, with the holder as its value.  describe() names it.
std::unexpected<Error> lock_error(const char* what, int fd, std::optional<std::uint64_t> byte);

// "process 1234 (framefs)", or "process 1234" if the system does not tell its name.
[[nodiscard]] std::string process_text(std::int64_t pid);

}  // namespace framefs::fs
