#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <ctime>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "codec/chunk/encode_params.h"
#include "codec/core/limits.h"
#include "codec/frame/frame.h"
#include "codec/frame/metalayer.h"
#include "fs/core/files/file.h"
#include "fs/read/content_id.h"
#include "fs/source/frame_origin.h"
#include "fs/write/commit/frame_backend.h"
#include "fs/write/commit/write_params.h"
#include "fs/write/overlay/overlay_budget.h"
#include "fs/write/ownership/frame_ownership.h"

namespace framefs::fs {

// A frame that was opened for writing, before its session is made.
struct FrameWriteOpening {
  FrameOrigin origin;    // as readers open it
  ContentId content_id;  // of the frame's state
  std::unique_ptr<FrameBackend> backend;
  codec::Frame frame;
  OverlayBudget::Index index;  // counts the memory of `entries`
  std::vector<std::int64_t> entries;
  std::vector<codec::NamedContent> vlmetalayers;
  struct stat stat{};  // of the file whose state is the frame's, before it was read
  std::uint32_t chunksize = 0;
  codec::EncodeParams params;
  ChooseParams choose_params = nullptr;  // set for a new frame
  // The time of the last change that users see, if it is not that of the file.
  std::optional<timespec> ctime{};
  std::unique_ptr<FrameOwnership> ownership = nullptr;  // made before the frame was read
};

// The state of a file when the process that made it gave it its first name.  Until then no other
// program could change it.
struct MadeFile {
  std::span<const std::byte> bytes;
  struct stat stat{};
};

// The place of a frame to be written.
struct WriteTarget {
  std::shared_ptr<const FileReader> file;  // open for reading and writing; null for a sparse frame
  UniqueFd directory;                      // for a sparse frame
  std::string name;                        // for the log
  std::optional<MadeFile> made{};  // of a file that this process has just made, which is not read
  Blosc2Lock lock_file{};          // the lock file of the frame
  std::unique_ptr<FrameOwnership> ownership = nullptr;  // of an owner of the frame
  // The frame's checksums are about to be replaced, so those that it has do not count.
  bool renews_checksums = false;
};

// The ownership of the frame, not taken yet.  Moves `lock_file` out of the target.  Errors: system.
Result<std::unique_ptr<FrameOwnership>> ownership_of(WriteTarget& target);

// Errors: unsupported for frames whose chunks vary in size and for frames of the beta versions;
// those of a damaged header or index; system: EOPNOTSUPP for caches of remote data and stored
// recipes, ESTALE if other programs change the frame all the time, ENOMEM if `overlay` has no room
// for the index.
Result<FrameWriteOpening> open_for_writing_frame(WriteTarget source, ContentId content_id,
                                                 const codec::Limits& limits,
                                                 OverlayBudget& overlay);

}  // namespace framefs::fs
