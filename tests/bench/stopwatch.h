#pragma once

#include <sys/resource.h>

#include <chrono>
#include <cstdint>
#include <iostream>

#include <fmt/core.h>

namespace framefs::bench {

// Measures the time from its construction on.
class Stopwatch {
 public:
  // Prints one line of JSON: {"bytes", "reads", "wall_s", "cpu_s"}.  The CPU time is that of all
  // threads.
  void print(std::uint64_t bytes, std::uint64_t reads) const {
    const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - begin_;
    std::cout << fmt::format(R"({{"bytes": {}, "reads": {}, "wall_s": {:.6f}, "cpu_s": {:.6f}}})",
                             bytes, reads, wall.count(), cpu_seconds() - cpu_begin_)
              << '\n';
  }

 private:
  static double cpu_seconds() {
    rusage used{};
    ::getrusage(RUSAGE_SELF, &used);
    const auto seconds = [](const timeval& time) {
      return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
    };
    return seconds(used.ru_utime) + seconds(used.ru_stime);
  }

  double cpu_begin_ = cpu_seconds();
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

}  // namespace framefs::bench
