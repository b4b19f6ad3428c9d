#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <utility>

#include "codec/core/result.h"

namespace framefs::codec {

// Limits the work of one request.  A few hundred bytes of an untrusted file can stand for gigabytes
// of decoded blocks, of tables and of dictionaries.  The budget also asks every 10 milliseconds
// whether a caller still waits for the result: work that takes longer spends in steps.
// Threads: any number, which share the budget.
class WorkBudget {
 public:
  // Units: decoded bytes, or steps that take as long as decoding a byte.
  // `is_wanted` returns whether a caller still waits for the result; any thread may call it.
  WorkBudget(std::uint64_t units, std::function<bool()> is_wanted)
      : left_(units), is_wanted_(std::move(is_wanted)) {}
  WorkBudget(const WorkBudget&) = delete;
  WorkBudget& operator=(const WorkBudget&) = delete;

  // Errors: those of is_work_error().
  Status spend(std::uint64_t units);
  // Spends `units` and takes more, for work that the caller expects.  Returns the units taken more:
  // at most `most`, and few of what is left, because other threads cannot spend them.
  // Errors: as spend().
  Result<std::uint64_t> spend_ahead(std::uint64_t units, std::uint64_t most);
  // The error of a spend() that failed.
  [[nodiscard]] Status check() const;
  // Also gives back units that were taken ahead.
  void allow(std::uint64_t units) { left_.fetch_add(units, std::memory_order_relaxed); }
  // Whether no caller waits for the result any more.
  [[nodiscard]] bool is_cancelled();

 private:
  [[nodiscard]] bool is_question_due() noexcept;

  // Relaxed: the counters carry no other data between threads.
  std::atomic<std::uint64_t> left_;
  std::atomic<std::int64_t> asked_at_{0};  // when is_wanted_() was asked last, in nanoseconds
  std::atomic<bool> is_cancelled_{false};
  std::atomic<bool> is_exceeded_{false};
  const std::function<bool()> is_wanted_;
};

// The budget of the request for which the calling thread works; null if no WorkScope has set one:
// the work is then unlimited.  It is a property of the thread, because work is spent below
// interfaces that know of no requests, such as ByteSource.
[[nodiscard]] WorkBudget* current_work_budget() noexcept;

// Spends from current_work_budget().  A thread takes units for many calls at once, because chunks
// of some hundred bytes are read in less time than it takes to ask the clock at each step.
// Errors: those of is_work_error().
Status spend_work(std::uint64_t units);

// The error of current_work_budget() if it is exceeded or cancelled.  For callers that have ignored
// the failure of a part of their work.  Errors: those of is_work_error().
Status check_work();
// Adds to current_work_budget().  The budget is made before the size of the request is known.
void allow_work(std::uint64_t units);

// Sets current_work_budget() until it is destroyed, and then gives back the units that the thread
// has taken ahead.  Lifetime: `budget` outlives it.
class WorkScope {
 public:
  explicit WorkScope(WorkBudget* budget) noexcept;
  WorkScope(const WorkScope&) = delete;
  WorkScope& operator=(const WorkScope&) = delete;
  ~WorkScope();

 private:
  WorkBudget* const before_;
  const std::uint64_t ahead_before_;
};

// Whether an error belongs to the request and not to a file: the request was interrupted (system,
// EINTR), or exceeded its budget (over_limit).  Another request for the same bytes may succeed.
[[nodiscard]] bool is_work_error(const Error& error) noexcept;
[[nodiscard]] bool is_interrupt(const Error& error) noexcept;
std::unexpected<Error> interrupted() noexcept;

}  // namespace framefs::codec
