#pragma once

#include <cstdint>
#include <functional>

#include "codec/core/result.h"
#include "codec/frame/salvage.h"
#include "fs/core/files/place.h"

namespace framefs {

struct RescueOptions {
  bool may_replace = false;
  bool locking = false;  // create the lock file of a frame that is replaced
};

struct Rescued {
  codec::SalvagePlan plan;
  std::uint64_t length = 0;  // the size of the new frame's file
};

// Salvages the frame at `from`, a file or the directory of a sparse frame, into the new contiguous
// frame `to`.
// Errors: those of plan_salvage() and ReplacementFile.
codec::Result<Rescued> rescue_frame(const fs::Place& from, const fs::Place& to,
                                    const RescueOptions& options,
                                    const codec::SalvageProgress& progress);

}  // namespace framefs
