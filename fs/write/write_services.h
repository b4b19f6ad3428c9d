#pragma once

#include "fs/read/content_id.h"
#include "fs/view/frame_chunks.h"
#include "fs/write/commit/chunk_writer.h"
#include "fs/write/commit/commit_counters.h"
#include "fs/write/overlay/overlay_budget.h"
#include "fs/write/source_clock.h"

namespace framefs::fs {

// Services that all sessions of a mount share.  Lifetime: all of it outlives every session.
struct WriteServices {
  ReadServices reads;
  ChunkWriter& chunk_writer;
  OverlayBudget& overlay;
  ContentIds& content_ids;
  CommitCounters& commits;
  const SourceClock& clock;
};

}  // namespace framefs::fs
