#pragma once

#include "codec/core/result.h"

namespace framefs::fs {

// While a scope lives, the calling thread must not wait for the work of other requests or of other
// processes. An operation that would have to wait changes nothing and ends with would_wait(). The
// owner of the scope then repeats the operation on a thread that may wait.
class NoWaitScope {
 public:
  NoWaitScope() noexcept;
  NoWaitScope(const NoWaitScope&) = delete;
  NoWaitScope& operator=(const NoWaitScope&) = delete;
  ~NoWaitScope();

  // Whether an operation of the scope has ended because it would have had to wait.
  [[nodiscard]] bool has_refused() const noexcept { return has_refused_; }
  // Whether repeat_later() was called within the scope.
  [[nodiscard]] bool is_to_be_repeated() const noexcept { return is_to_be_repeated_; }

 private:
  friend codec::Status would_wait() noexcept;
  friend void repeat_later() noexcept;
  bool has_refused_ = false;
  bool is_to_be_repeated_ = false;
  NoWaitScope* const outer_;
};

// Whether the calling thread may wait: false within a NoWaitScope.
[[nodiscard]] bool may_wait() noexcept;
// Whether an operation of the calling thread's scope has ended with would_wait().
[[nodiscard]] bool has_refused_to_wait() noexcept;
// Leaves the operation of the calling thread to the owner of its scope: it was not answered.
void repeat_later() noexcept;
// The error of an operation that would have to wait. To be called only if may_wait() is false.
[[nodiscard]] codec::Status would_wait() noexcept;

}  // namespace framefs::fs
