#pragma once

#include <chrono>
#include <utility>

#include "fs/core/mount_options.h"
#include "fs/core/threads/worker_pool.h"
#include "fs/view/read_core.h"
#include "fs/write/commit/chunk_writer.h"
#include "fs/write/frame_write_session.h"
#include "fs/write/kept_ctimes.h"
#include "fs/write/write_session_table.h"
#include "fs/write/write_sessions.h"

namespace framefs::fs {

// The objects with which a mount stores what is written.  All its frames share one budget of memory
// and one pool of threads.  Each object refers only to those before it.
// Threads: any number.
struct WriteCore {
  // Lifetime: `read_core`, and what `on_end` uses, outlive the `WriteCore`.
  WriteCore(const MountOptions& options, ReadCore& read_core, WriteSessionTable::OnEnd on_end)
      : reads(read_core),
        workers(options.threads),
        chunk_writer(workers),
        overlay(options.write.overlay_bytes),
        services{reads.services(options.verify_checksums),
                 chunk_writer,
                 overlay,
                 reads.content_ids,
                 commits,
                 clock},
        table(reads.log, ctimes, std::move(on_end)),
        sessions(reads.log, overlay, table,
                 std::chrono::milliseconds(options.write.commit_interval_ms)) {}
  WriteCore(const WriteCore&) = delete;
  WriteCore& operator=(const WriteCore&) = delete;
  ~WriteCore() = default;

  ReadCore& reads;
  WorkerPool workers;  // encode what is stored, so that no reader waits for that
  ChunkWriter chunk_writer;
  OverlayBudget overlay;
  CommitCounters commits;
  SourceClock clock;
  const WriteServices services;
  KeptCtimes ctimes;
  WriteSessionTable table;
  WriteSessions sessions;
};

}  // namespace framefs::fs
