#pragma once

#include <cstdint>
#include <filesystem>

#include "codec/core/result.h"
#include "fs/core/log.h"
#include "fs/write/frame_write_session.h"
#include "fs/write/standalone_write_context.h"

namespace framefs {

// Rewrites frames without dead space, where they are: links, mode, owner, attributes and times stay.
class FrameCompactor {
 public:
  explicit FrameCompactor(fs::Log& log);

  struct Saving {
    std::uint64_t before = 0;  // bytes of the file
    std::uint64_t after = 0;
    bool is_sparse = false;  // whose chunks are files of their own, among which nothing is dead
  };
  // The frame is whole and holds the same at any moment, whatever happens.  Nobody else may write to it
  // meanwhile.
  // Errors: those of open_for_writing_frame(); of a chunk whose stored size cannot be relied on, which is then
  // logged with its number; no_space, system.
  fs::Result<Saving> compact(const std::filesystem::path& path);

 private:
  fs::Status check_chunks(const std::filesystem::path& path,
                          const fs::FrameWriteSession::Opening& opening);

  fs::Log& log_;
  fs::StandaloneWriteContext kit_;
};

}  // namespace framefs
