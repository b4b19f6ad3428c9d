#pragma once

#include <chrono>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <future>
#include <latch>
#include <thread>
#include <utility>
#include <vector>

namespace framefs::test {

// Much longer than a slow machine with a sanitizer needs, so that only a hang takes this long.
inline constexpr std::chrono::seconds kHangs{300};

// Runs `body` on a thread of its own.  If the thread does not end, aborts the process: a hanging
// thread cannot be joined, and the test runner would wait forever.
template <class Body>
void finish_in_time(const char* what, Body body) {
  std::packaged_task<void()> task(std::move(body));
  auto done = task.get_future();
  std::thread thread(std::move(task));
  if (done.wait_for(kHangs) != std::future_status::ready) {
    std::fprintf(stderr, "hangs: %s\n", what);
    std::abort();
  }
  thread.join();
  done.get();
}

// Calls body(0) .. body(count - 1), each on its own thread, starts them at the same time, and
// returns when all have ended.  The bodies collect results and the caller asserts, because Catch's
// assertions are not thread-safe.
template <class Body>
void on_threads(std::size_t count, const Body& body) {
  finish_in_time("on_threads", [&] {
    std::latch start(static_cast<std::ptrdiff_t>(count));
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < count; ++i) {
      threads.emplace_back([&start, &body, i] {
        start.arrive_and_wait();
        body(i);
      });
    }
    for (auto& thread : threads) thread.join();
  });
}

// Waits until `holds()` is true.  Returns false after a timeout.
template <class Condition>
bool comes_true(const Condition& holds) {
  const auto end = std::chrono::steady_clock::now() + kHangs;
  while (!holds()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::yield();
  }
  return true;
}

}  // namespace framefs::test
