#pragma once

#include <functional>

namespace framefs::fs {

// While a scope lives, the calling thread works on an operation whose caller may cancel it. Long
// waits call interrupted() at intervals. If scopes are nested, the innermost one counts.
class InterruptScope {
 public:
  using Asked = std::function<bool()>;

  // `asked` says whether the caller has cancelled; its answer may change at any time, in any
  // thread.
  explicit InterruptScope(Asked asked);
  InterruptScope(const InterruptScope&) = delete;
  InterruptScope& operator=(const InterruptScope&) = delete;
  ~InterruptScope();

 private:
  const Asked asked_;
  const Asked* const outer_;
};

// Whether the caller of this thread's operation has cancelled it: by a scope, or by the work budget
// of the request (codec/core/work_budget.h). False outside both.
[[nodiscard]] bool interrupted();

}  // namespace framefs::fs
