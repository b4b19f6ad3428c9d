#include "fs/core/threads/may_wait.h"

#include <cerrno>
#include <utility>

#include "fs/core/files/file.h"

namespace framefs::fs {
namespace {

// Each thread has its own, set only by scopes. Hence mounts share no state through it.
thread_local NoWaitScope* innermost_scope = nullptr;

}  // namespace

NoWaitScope::NoWaitScope() noexcept : outer_(std::exchange(innermost_scope, this)) {}

NoWaitScope::~NoWaitScope() { innermost_scope = outer_; }

bool may_wait() noexcept { return innermost_scope == nullptr; }

bool has_refused_to_wait() noexcept {
  return innermost_scope != nullptr && innermost_scope->has_refused();
}

void repeat_later() noexcept {
  if (innermost_scope != nullptr) innermost_scope->is_to_be_repeated_ = true;
}

codec::Status would_wait() noexcept {
  if (innermost_scope != nullptr) innermost_scope->has_refused_ = true;
  return system_error_of(EAGAIN, "an operation that would have to wait");
}

}  // namespace framefs::fs
