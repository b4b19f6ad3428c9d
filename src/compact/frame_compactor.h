#pragma once

#include <cstdint>
#include <filesystem>

#include "codec/core/result.h"
#include "fs/core/diagnostics/log.h"
#include "fs/write/frame_write_session.h"
#include "fs/write/standalone_write_context.h"

namespace framefs {

// Rewrites a frame in place without its dead space.  Links, mode, owner, attributes and times of
// the file stay.
class FrameCompactor {
 public:
  // `creates_lock_file`: as for fs::Blosc2Lock.
  FrameCompactor(fs::Log& log, bool creates_lock_file);

  struct Saving {
    std::uint64_t before = 0;  // bytes of the file
    std::uint64_t after = 0;
    bool is_sparse = false;  // a sparse frame: one file for each chunk, so no dead space
  };
  // The frame stays complete and its content is the same at every moment, also after a failure.
  // Other framefs processes, and programs that respect the frame's lock file, wait meanwhile; a
  // change by any other program ends the compaction.
  // Errors: those of open_for_writing_frame() and of FrameOwnership::take(); the error of a chunk
  // whose stored size cannot be relied on (the log then has the chunk's number); no_space, system.
  fs::Result<Saving> compact(const std::filesystem::path& path);

 private:
  fs::Status check_chunks(const std::filesystem::path& path,
                          const fs::FrameWriteSession::Opening& opening);

  fs::Log& log_;
  const bool creates_lock_file_;
  fs::StandaloneWriteContext kit_;
};

}  // namespace framefs
