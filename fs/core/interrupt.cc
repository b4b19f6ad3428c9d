#include "fs/core/interrupt.h"

#include <utility>

namespace framefs::fs {
namespace {

// A thread's own and set by scopes only, so no state that mounts could share.
thread_local const InterruptScope::Asked* current = nullptr;

}  // namespace

InterruptScope::InterruptScope(Asked asked)
    : asked_(std::move(asked)), outer_(std::exchange(current, &asked_)) {}

InterruptScope::~InterruptScope() { current = outer_; }

bool interrupted() { return current != nullptr && (*current)(); }

}  // namespace framefs::fs
