#pragma once

#include "fs/core/diagnostics/counters.h"

namespace framefs::fs {

// The commits of all frames of a mount, for statistics.  Threads: any number.
struct CommitCounters {
  Counter done;
  Counter failed;
  Counter compactions;  // that have ended
};

}  // namespace framefs::fs
