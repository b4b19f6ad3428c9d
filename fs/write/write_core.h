#pragma once

#include <chrono>
#include <utility>

#include "fs/core/mount_options.h"
#include "fs/core/worker_pool.h"
#include "fs/view/read_core.h"
#include "fs/write/commit/chunk_writer.h"
#include "fs/write/frame_write_session.h"
#include "fs/write/write_session_table.h"

namespace framefs::fs {

// The objects with which a mount stores what is written.  All its frames share one budget of memory
// and one pool of threads.  Each object refers only to those before it.
// Threads: any number.
struct WriteCore {
  // `on_end` and `on_ending`: see WriteSessionTable.
  // Lifetime: `reads`, and what the two functions use, outlive the `WriteCore`.
  WriteCore(const MountOptions& options, ReadCore& reads, WriteSessionTable::OnEnd on_end,
            WriteSessionTable::OnEnding on_ending)
      : workers(options.threads),
        chunk_writer(workers),
        overlay(options.write.overlay_bytes),
        services{reads.services(options.verify_checksums),
                 chunk_writer,
                 overlay,
                 reads.content_ids,
                 commits,
                 clock},
        sessions(reads.log, overlay, std::chrono::milliseconds(options.write.commit_interval_ms),
                 std::move(on_end), std::move(on_ending)) {}
  WriteCore(const WriteCore&) = delete;
  WriteCore& operator=(const WriteCore&) = delete;
  ~WriteCore() = default;

  WorkerPool workers;  // encode what is stored, so that no reader waits for that
  ChunkWriter chunk_writer;
  OverlayBudget overlay;
  CommitCounters commits;
  SourceClock clock;
  const WriteServices services;
  WriteSessionTable sessions;
};

}  // namespace framefs::fs
