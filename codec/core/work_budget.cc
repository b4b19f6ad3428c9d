#include "codec/core/work_budget.h"

#include <algorithm>
#include <cerrno>
#include <chrono>

namespace framefs::codec {
namespace {

// How often a budget asks whether the result is still wanted.  Units would not do: the same unit
// takes longer on a busy machine.
constexpr std::int64_t kQuestionEvery = 10'000'000;  // nanoseconds

// Errors with these texts are recognised by address, because no error of a file has them.
constexpr const char* kTooMuchWork = "decoded bytes that one request may cost";
constexpr const char* kInterrupted = "interrupted request";

// The units that spend_work() takes ahead: about 10 microseconds of decoding, or 32 reads of a
// source.
constexpr std::uint64_t kMostAhead = 8u << 10;
// With this part of what is left, threads that share a budget spend nearly all of it.
constexpr std::uint64_t kAheadPart = 256;

struct ThreadBudget {
  WorkBudget* budget = nullptr;
  std::uint64_t ahead = 0;  // units that `budget` has given and that are not spent yet
};
thread_local ThreadBudget current;

}  // namespace

std::unexpected<Error> interrupted() noexcept {
  return std::unexpected(Error{.kind = Errc::system, .field = kInterrupted, .sys = EINTR});
}

bool WorkBudget::is_cancelled() {
  if (is_cancelled_.load(std::memory_order_relaxed)) return true;
  if (!is_wanted_ || is_wanted_()) return false;
  is_cancelled_.store(true, std::memory_order_relaxed);
  return true;
}

Status WorkBudget::spend(std::uint64_t units) {
  FRAMEFS_CHECK(spend_ahead(units, 0));
  return {};
}

Result<std::uint64_t> WorkBudget::spend_ahead(std::uint64_t units, std::uint64_t most) {
  if (is_cancelled_.load(std::memory_order_relaxed)) return interrupted();
  auto left = left_.load(std::memory_order_relaxed);
  std::uint64_t ahead = 0;
  do {
    if (units > left) {
      is_exceeded_.store(true, std::memory_order_relaxed);
      return fail(Errc::over_limit, kTooMuchWork);
    }
    ahead = std::min(most, (left - units) / kAheadPart);
  } while (!left_.compare_exchange_weak(left, left - units - ahead, std::memory_order_relaxed));
  if (is_question_due() && is_cancelled()) return interrupted();
  return ahead;
}

// True for one of the threads that share the budget.
bool WorkBudget::is_question_due() noexcept {
  const auto since_boot = std::chrono::steady_clock::now().time_since_epoch();
  const std::int64_t now = std::chrono::nanoseconds(since_boot).count();
  auto asked_at = asked_at_.load(std::memory_order_relaxed);
  return now - asked_at >= kQuestionEvery &&
         asked_at_.compare_exchange_strong(asked_at, now, std::memory_order_relaxed);
}

Status WorkBudget::check() const {
  if (is_cancelled_.load(std::memory_order_relaxed)) return interrupted();
  if (is_exceeded_.load(std::memory_order_relaxed)) return fail(Errc::over_limit, kTooMuchWork);
  return {};
}

WorkBudget* current_work_budget() noexcept { return current.budget; }

Status spend_work(std::uint64_t units) {
  if (current.budget == nullptr) return {};
  if (units > current.ahead) {
    FRAMEFS_TRY(const auto more, current.budget->spend_ahead(units - current.ahead, kMostAhead));
    current.ahead = more;
    return {};
  }
  current.ahead -= units;
  return {};
}

Status check_work() {
  if (current.budget == nullptr) return {};
  return current.budget->check();
}

void allow_work(std::uint64_t units) {
  if (current.budget != nullptr) current.budget->allow(units);
}

WorkScope::WorkScope(WorkBudget* budget) noexcept
    : before_(current.budget), ahead_before_(current.ahead) {
  current = {.budget = budget, .ahead = 0};
}

WorkScope::~WorkScope() {
  if (current.ahead > 0) current.budget->allow(current.ahead);
  current = {.budget = before_, .ahead = ahead_before_};
}

bool is_interrupt(const Error& error) noexcept { return error.field == kInterrupted; }

bool is_work_error(const Error& error) noexcept {
  return error.field == kTooMuchWork || error.field == kInterrupted;
}

}  // namespace framefs::codec
