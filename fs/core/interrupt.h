#pragma once

#include <functional>

namespace framefs::fs {

// While it lives, the calling thread works on an operation whose caller may give up; long waits ask
// interrupted() now and then.  Scopes may be nested, the innermost counts.
class InterruptScope {
 public:
  using Asked = std::function<bool()>;

  // `asked` says whether the caller has given up; any thread may change what it says.
  explicit InterruptScope(Asked asked);
  InterruptScope(const InterruptScope&) = delete;
  InterruptScope& operator=(const InterruptScope&) = delete;
  ~InterruptScope();

 private:
  const Asked asked_;
  const Asked* const outer_;
};

// Whether the caller of the operation that this thread works on has given up.  False outside scopes.
[[nodiscard]] bool interrupted();

}  // namespace framefs::fs
