#pragma once

#include <memory>

#include "fs/core/files/place.h"
#include "fs/write/ownership/frame_ownership.h"

namespace framefs {

// Takes the ownership of the frame at `place`, which will be replaced: no other program is in
// the middle of a change of it then.  Null if there is no such file, or none that may be written.
// `creates_lock_file`: as for fs::Blosc2Lock.
// Errors: those of fs::FrameOwnership::take().
fs::Result<std::unique_ptr<fs::FrameOwnership>> own_replaced_frame(const fs::Place& place,
                                                                   bool creates_lock_file);

}  // namespace framefs
