#include "fs/core/threads/worker_pool.h"

#include <atomic>
#include <optional>

#include <tbb/global_control.h>
#include <tbb/info.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include "codec/core/work_budget.h"
#include "fs/core/threads/thread_annotations.h"

namespace framefs::fs {

struct WorkerPool::Arena {
  // Callers have places of their own beside the workers.
  explicit Arena(int count) : threads(count), tasks(2 * count - 1, static_cast<unsigned>(count)) {
    // Without this control, the library limits the arena to the number of CPUs and prints a warning
    // on stderr. If several pools set the control, the smallest value applies.
    if (threads > tbb::info::default_concurrency()) {
      leave.emplace(tbb::global_control::max_allowed_parallelism,
                    static_cast<std::size_t>(threads));
    }
  }
  const int threads;
  std::atomic<int> callers{0};  // relaxed: a count that no other data depends on
  std::optional<tbb::global_control> leave;
  tbb::task_arena tasks;
};

namespace {

// Counts a caller for as long as it lives.
class CallerCount {
 public:
  explicit CallerCount(std::atomic<int>& count) noexcept
      : count_(count), before_(count.fetch_add(1, std::memory_order_relaxed)) {}
  CallerCount(const CallerCount&) = delete;
  CallerCount& operator=(const CallerCount&) = delete;
  ~CallerCount() { count_.fetch_sub(1, std::memory_order_relaxed); }
  [[nodiscard]] int before() const noexcept { return before_; }

 private:
  std::atomic<int>& count_;
  const int before_;
};

}  // namespace

WorkerPool::WorkerPool(unsigned threads)
    : arena_(std::make_unique<Arena>(threads == 0 ? tbb::info::default_concurrency()
                                                  : static_cast<int>(threads))) {}

WorkerPool::~WorkerPool() = default;

unsigned WorkerPool::threads() const noexcept { return static_cast<unsigned>(arena_->threads); }

void WorkerPool::run(std::size_t count, const std::function<void(std::size_t)>& body) {
  if (count == 0) return;
  if (count == 1) {
    body(0);
    return;
  }
  const CallerCount caller(arena_->callers);
  if (caller.before() >= arena_->threads) {
    for (std::size_t i = 0; i < count; ++i) body(i);
    return;
  }
  auto* const budget = codec::current_work_budget();
  char started = 0;  // their addresses stand for "before all calls" and "after all calls"
  char ended = 0;
  annotate_release(&started);
  const std::function<void(std::size_t)> call = [&](std::size_t i) {
    annotate_acquire(&started);
    {
      const codec::WorkScope scope(budget);  // uses the budget also at its end
      body(i);
    }
    annotate_release(&ended);
  };
  arena_->tasks.execute([&] {
    // Isolated: a thread that waits for its own calls must not run a call of another request, which
    // would delay its own reply.
    tbb::this_task_arena::isolate(
        [&] { tbb::parallel_for(std::size_t{0}, count, call, tbb::simple_partitioner{}); });
  });
  annotate_acquire(&ended);
}

}  // namespace framefs::fs
