#pragma once

#include <cerrno>
#include <memory>
#include <variant>

#include "fs/core/files/file.h"
#include "fs/write/frame_write_session.h"

namespace framefs::fs {

// SOURCE has every byte that was written to the file through this mount, or what another program
// has written after that.  Either there is no session, or the session is superseded.
struct SavedBytes {};

// Bytes that were written to the file are lost, and no program has opened it for writing since.
// SOURCE has the last commit, or what another program has written.
struct LostBytes {
  // The report of every sync, by any descriptor, and of every change that relies on a sync.
  [[nodiscard]] Status status() const {
    return system_error_of(EIO, "bytes that were written before are lost");
  }
};

// Where the bytes are that were written to a file.  Each caller says what it does in each case, by
// std::visit() with Cases.
using WrittenBytes = std::variant<SavedBytes, std::shared_ptr<FrameWriteSession>, LostBytes>;

}  // namespace framefs::fs
