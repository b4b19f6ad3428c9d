#pragma once

#include "fs/core/diagnostics/log.h"
#include "fs/core/files/place.h"
#include "fs/write/standalone_write_context.h"

namespace framefs {

// Gives frames checksums of their chunks as they are stored now.  The check that no chunk is
// damaged comes before.
class FrameRehasher {
 public:
  // `creates_lock_file`: as for fs::Blosc2Lock.
  FrameRehasher(fs::Log& log, bool creates_lock_file);

  // The content of the frame and the times of its file stay the same.
  // Errors: those of open_for_writing_frame() and of FrameOwnership::take(); over_limit for a frame
  // of more than codec::kMaxChecksums chunks; those of reading the chunks and of a commit.
  fs::Status rehash(const fs::Place& place);

 private:
  const bool creates_lock_file_;
  fs::StandaloneWriteContext kit_;
};

}  // namespace framefs
