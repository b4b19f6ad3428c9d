#include "fs/core/interrupt.h"

#include <utility>

namespace framefs::fs {
namespace {

// Each thread has its own, set only by scopes. Hence mounts share no state through it.
thread_local const InterruptScope::Asked* current = nullptr;

}  // namespace

InterruptScope::InterruptScope(Asked asked)
    : asked_(std::move(asked)), outer_(std::exchange(current, &asked_)) {}

InterruptScope::~InterruptScope() { current = outer_; }

bool interrupted() { return current != nullptr && (*current)(); }

}  // namespace framefs::fs
