#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "fs/core/diagnostics/log.h"
#include "fs/write/write_session_table.h"

namespace framefs::fs {

// Commits of many frames at a time: the frames of a batch are stored one after the other, and
// synced together.  The log gets each failure, and the session stays in the table.

// Logs that a commit or a compaction failed.  Nothing went wrong if another writer changed a frame
// of which this session had only committed bytes.
void log_commit_failure(Log& log, const FrameWriteSession& session, const codec::Error& error);

// The number of frames in a batch: every frame of the batch waits for the whole batch.
inline constexpr std::size_t kMaxFramesTogether = 256;

// Commits small frames in batches, and returns the other frames that have changed: those that have
// much to store, and those that another thread works on.
[[nodiscard]] std::vector<WriteSessionTable::File> commit_small(
    Log& log, const std::vector<WriteSessionTable::File>& files);

// Commits one frame, of any size.  Waits for other threads that store or commit it.
void commit_alone(Log& log, FrameWriteSession& session);

// Commits frames durably.  Returns the names of those whose sync failed.
[[nodiscard]] std::vector<std::string> commit_durably(
    Log& log, const std::vector<WriteSessionTable::File>& files);

}  // namespace framefs::fs
