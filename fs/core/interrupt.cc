#include "fs/core/interrupt.h"

#include <utility>

#include "codec/core/work_budget.h"

namespace framefs::fs {
namespace {

// Each thread has its own pointer, and only scopes set it. Hence mounts share no state through it.
thread_local const InterruptScope::Asked* current = nullptr;

}  // namespace

InterruptScope::InterruptScope(Asked asked)
    : asked_(std::move(asked)), outer_(std::exchange(current, &asked_)) {}

InterruptScope::~InterruptScope() { current = outer_; }

bool interrupted() {
  if (current != nullptr && (*current)()) return true;
  auto* const budget = codec::current_work_budget();
  return budget != nullptr && budget->is_cancelled();
}

}  // namespace framefs::fs
