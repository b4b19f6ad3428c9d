#pragma once

#include "codec/core/limits.h"
#include "fs/core/diagnostics/log.h"
#include "fs/source/known_summaries.h"
#include "fs/source/source_root.h"

namespace framefs::fuse {

// The contents of the files that a manifest in SOURCE lists (fs/net/store/manifest.h), for a mount
// whose user promises that SOURCE does not change.  None without a manifest; a manifest that cannot
// be read changes nothing, and the log says why.
fs::KnownSummaries read_local_manifest(const fs::SourceRoot& source, const codec::Limits& limits,
                                       fs::Log& log);

}  // namespace framefs::fuse
