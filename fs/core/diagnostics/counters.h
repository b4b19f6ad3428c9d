#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <chrono>
#include <cstddef>
#include <cstdint>

namespace framefs::fs {

// A running sum for statistics.  No other data depends on its value, hence the relaxed order.
// Threads: any number.
class Counter {
 public:
  void add(std::uint64_t amount = 1) noexcept {
    value_.fetch_add(amount, std::memory_order_relaxed);
  }
  [[nodiscard]] std::uint64_t value() const noexcept {
    return value_.load(std::memory_order_relaxed);
  }

 private:
  std::atomic<std::uint64_t> value_{0};
};

// The durations of requests, in classes.  Each class is twice as wide as the previous class.
// Threads: any number.
class LatencyHistogram {
 public:
  void note(std::chrono::nanoseconds took) noexcept {
    const auto ns = static_cast<std::uint64_t>(took.count() < 0 ? 0 : took.count());
    const auto width = static_cast<std::size_t>(std::bit_width(ns));
    classes_[width < kClasses ? width : kClasses - 1].add();
    sum_ns_.add(ns);
  }
  [[nodiscard]] std::uint64_t count() const noexcept {
    std::uint64_t sum = 0;
    for (const auto& counter : classes_) sum += counter.value();
    return sum;
  }
  [[nodiscard]] std::uint64_t sum_ns() const noexcept { return sum_ns_.value(); }
  // The number of durations in class `i`: less than 2^i ns, and not in an earlier class; the last
  // class has all others.
  [[nodiscard]] std::uint64_t in_class(std::size_t i) const noexcept { return classes_[i].value(); }
  static constexpr std::size_t kClasses = 44;  // up to hours
  // Returns an upper bound for this share of the requests, at most twice the exact value; 0 without
  // requests.
  [[nodiscard]] std::uint64_t quantile_ns(double share) const noexcept {
    const auto all = count();
    const auto wanted = static_cast<std::uint64_t>(static_cast<double>(all) * share);
    std::uint64_t seen = 0;
    for (std::size_t i = 0; i < kClasses && all > 0; ++i) {
      seen += classes_[i].value();
      if (seen > wanted || seen == all) return std::uint64_t{1} << i;
    }
    return 0;
  }

 private:
  std::array<Counter, kClasses> classes_;
  Counter sum_ns_;
};

}  // namespace framefs::fs
