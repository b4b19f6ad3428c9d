#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <utility>

#include "codec/core/result.h"

namespace framefs::codec {

// The cost that one request may have.  A few hundred bytes of a stranger's file can stand for
// gigabytes of decoded blocks.  So each request has a budget, which also asks now and then whether
// anybody still waits for the result.
// Threads: any number, which share the budget.
class WorkBudget {
 public:
  // Units: decoded bytes, or steps that take as long as decoding a byte.
  // `is_wanted` says whether somebody still waits for the result; it may be called by any thread.
  WorkBudget(std::uint64_t units, std::function<bool()> is_wanted)
      : left_(units), is_wanted_(std::move(is_wanted)) {}
  WorkBudget(const WorkBudget&) = delete;
  WorkBudget& operator=(const WorkBudget&) = delete;

  // Errors: those of is_work_error().
  Status spend(std::uint64_t units);
  // The error of a spend() that failed.
  Status check() const;
  void allow(std::uint64_t units) { left_.fetch_add(units, std::memory_order_relaxed); }
  // Whether nobody waits for the result any more.
  [[nodiscard]] bool is_cancelled();

 private:
  // Relaxed: the counters carry no other data between threads.
  std::atomic<std::uint64_t> left_;
  std::atomic<std::uint64_t> unasked_{0};  // spent since is_wanted_() was asked last
  std::atomic<bool> is_cancelled_{false};
  std::atomic<bool> is_exceeded_{false};
  const std::function<bool()> is_wanted_;
};

// The budget of the request for which the calling thread works; null where nobody has set one: then
// work is not bounded.  It is a property of the thread, because work is spent below interfaces that
// know of no requests, such as ByteSource.
[[nodiscard]] WorkBudget* current_work_budget() noexcept;

// Spends from current_work_budget().  Errors: those of is_work_error().
Status spend_work(std::uint64_t units);

// Whether current_work_budget() has been exceeded or cancelled: for those who have gone on without
// what failed.  Errors: those of is_work_error().
Status check_work();
// Adds to current_work_budget(), which is made before it is known what is asked for.
void allow_work(std::uint64_t units);

// Sets current_work_budget() until it is destroyed.  Lifetime: `budget` outlives it.
class WorkScope {
 public:
  explicit WorkScope(WorkBudget* budget) noexcept;
  WorkScope(const WorkScope&) = delete;
  WorkScope& operator=(const WorkScope&) = delete;
  ~WorkScope();

 private:
  WorkBudget* const before_;
};

// Errors of the request, and of no file: it was interrupted (system, EINTR), or would have cost too
// much (over_limit).  Another request for the same bytes may succeed.
[[nodiscard]] bool is_work_error(const Error& error) noexcept;
[[nodiscard]] bool is_interrupt(const Error& error) noexcept;
std::unexpected<Error> interrupted() noexcept;

}  // namespace framefs::codec
