#pragma once

#include <cstddef>
#include <string_view>

#include <fuse_lowlevel.h>

#include "codec/core/work_budget.h"

namespace framefs::fuse {

// The budget of one request, for as long as its operation runs: work that it causes is bounded, and
// ends when the caller is being killed or the mount ends.  A signal that the caller handles does
// not end the work: reads of files are not interrupted by such.  Operations that change something
// are not bounded: they work on what was written before, too.  Lifetime: destroyed before the
// request is answered.
class RequestScope {
 public:
  // `operation` is the name that answer() has for it.
  RequestScope(fuse_req_t req, fuse_session* session, std::string_view operation);

 private:
  codec::WorkBudget budget_;
  codec::WorkScope scope_;
};

// What a read may cost beside that, by what it asks for.
void allow_read(std::size_t size);

}  // namespace framefs::fuse
