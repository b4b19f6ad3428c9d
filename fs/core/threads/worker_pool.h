#pragma once

#include <cstddef>
#include <functional>
#include <memory>

namespace framefs::fs {

// The threads that decode or encode. The caller of run() takes part in the work.
// Threads: any number of threads may call run() at once; they share the workers. No caller waits
// for another one: if many run at once, further ones do all of their work themselves.
class WorkerPool {
 public:
  // 0 threads: one for each CPU.
  explicit WorkerPool(unsigned threads);
  ~WorkerPool();
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  // The number of threads that run calls of one run(), the caller included.
  [[nodiscard]] unsigned threads() const noexcept;

  // Calls body(0) .. body(count - 1), each once, in parallel, and returns when all are done.
  // `body` must not wait for another run().
  // All calls count towards the caller's request: codec::current_work_budget().
  // `body` reports failures through its captures. If it throws because memory is short, the
  // exception reaches the caller after the calls in flight have ended; some indexes are then never
  // called.
  void run(std::size_t count, const std::function<void(std::size_t)>& body);

 private:
  struct Arena;
  const std::unique_ptr<Arena> arena_;
};

}  // namespace framefs::fs
