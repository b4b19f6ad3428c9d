#pragma once

#include <vector>

#include "fs/core/diagnostics/log.h"
#include "fs/core/files/file.h"
#include "fs/core/threads/worker_pool.h"
#include "fs/tree/changes/array_candidates.h"
#include "fs/tree/changes/array_places.h"
#include "fs/tree/nodes/node_locator.h"
#include "fs/tree/nodes/open_containers.h"
#include "fs/view/frame_chunks.h"
#include "fs/write/write_core.h"

namespace framefs::fs {

// Makes arrays of frames that hold a .npy file, if a rule says so.  A frame becomes an array after
// its last handle was closed and all of it is committed, if the array is shown with the same bytes.
// The array is a new file in SOURCE, which takes the place of the frame when it is complete.
//
// One thread does this, that of the candidates.  Nobody waits for it: a frame that is opened
// meanwhile stays as it is until it is closed again.
//
// Threads: one calls the members.
class ArrayConverter {
 public:
  // Lifetime: all referenced objects outlive the converter.
  struct Parts {
    ArrayCandidates& candidates;
    NodeLocator& locator;
    const OpenContainers& containers;
    WriteCore& writes;
    ArrayPlaces& places;
  };
  explicit ArrayConverter(const Parts& parts);
  ~ArrayConverter() { parts_.candidates.stop(); }
  ArrayConverter(const ArrayConverter&) = delete;
  ArrayConverter& operator=(const ArrayConverter&) = delete;

  // Converts the candidates and `committed` in the calling thread.  No requests are served any
  // more.
  void finish(const std::vector<FileKey>& committed);

 private:
  void convert_ready(bool has_ended);
  Status convert(Node& node, const ArrayCandidates::Rule& rule, bool has_ended);

  const Parts parts_;
};

}  // namespace framefs::fs
