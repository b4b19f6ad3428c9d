#pragma once

#include <cstddef>
#include <functional>
#include <memory>

namespace framefs::fs {

// The threads that decode.  The caller of run() works along.
// Threads: run() from any number of threads at once; they share the workers.
class WorkerPool {
 public:
  // 0 threads: one for each CPU.
  explicit WorkerPool(unsigned threads);
  ~WorkerPool();
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  // Calls body(0) .. body(count - 1), each once, in parallel, and returns when all are done.
  // `body` waits for no other run(): a thread that finds all workers busy may first be given calls
  // of those before it.
  // All calls work for the caller's request: codec::current_work_budget().
  // `body` reports failures through what it captures; should it throw for want of memory, the
  // exception reaches the caller after the calls under way have ended, and some indexes are never
  // called.
  void run(std::size_t count, const std::function<void(std::size_t)>& body);

 private:
  struct Arena;
  const std::unique_ptr<Arena> arena_;
};

}  // namespace framefs::fs
