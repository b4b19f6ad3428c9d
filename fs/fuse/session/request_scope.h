#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

#include <fuse_lowlevel.h>

#include "codec/core/work_budget.h"
#include "fs/core/threads/interrupt.h"

namespace framefs::fuse {

// The work budget of one request, while its operation runs. It bounds the work, and cancels it when
// the caller is being killed or the mount ends. A signal that the caller handles does not cancel
// the work, because such signals do not interrupt reads of regular files. Operations that change a
// file have no bound: their work also includes data that was written before. Of these, only waits
// for another process are cancelled.
// Lifetime: destroyed before the request is answered.
class RequestScope {
 public:
  // `operation` is the name that was passed to answer().
  RequestScope(fuse_req_t req, fuse_session* session, std::string_view operation);

 private:
  codec::WorkBudget budget_;
  codec::WorkScope scope_;
  std::optional<fs::InterruptScope> waits_;
};

// Adds the cost that a read of `size` bytes may have.
void allow_read(std::size_t size);

}  // namespace framefs::fuse
