#pragma once

#include <memory>
#include <string>

#include <fuse_lowlevel.h>

#include "codec/core/result.h"

namespace framefs::fuse {

using codec::Result;

struct CloseSession {
  void operator()(fuse_session* session) const { fuse_session_destroy(session); }
};
using SessionPtr = std::unique_ptr<fuse_session, CloseSession>;

// A session of libfuse that is not mounted.  `words` is the value of -o.  With `debug`, libfuse
// traces all requests on stderr.
// Errors: system.
Result<SessionPtr> new_session(const std::string& words, bool debug,
                               const fuse_lowlevel_ops& operations, void* user_data);

}  // namespace framefs::fuse
