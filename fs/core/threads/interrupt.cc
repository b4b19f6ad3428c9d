#include "fs/core/threads/interrupt.h"

#include <utility>

#include "codec/core/work_budget.h"

namespace framefs::fs {
namespace {

// Each thread has its own pointer, and only scopes set it. Hence mounts share no state through it.
thread_local const InterruptScope::Asked* innermost_question = nullptr;

}  // namespace

InterruptScope::InterruptScope(Asked asked)
    : asked_(std::move(asked)), outer_(std::exchange(innermost_question, &asked_)) {}

InterruptScope::~InterruptScope() { innermost_question = outer_; }

bool interrupted() {
  if (innermost_question != nullptr && (*innermost_question)()) return true;
  auto* const budget = codec::current_work_budget();
  return budget != nullptr && budget->is_cancelled();
}

}  // namespace framefs::fs
