#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

namespace framefs {

// Tells a person at a terminal how far long work has come; where standard error is something else,
// or nobody wants to know, it says nothing.  Threads: one.
class ProgressBar {
 public:
  // `total` is what there is to do, where that is known.  Units: bytes.
  ProgressBar(std::string what, std::optional<std::uint64_t> total, bool quiet);
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;
  ~ProgressBar();  // takes the bar away

  [[nodiscard]] bool is_shown() const noexcept { return is_shown_; }
  void update(std::uint64_t done);

 private:
  using Clock = std::chrono::steady_clock;

  const std::string what_;
  const std::optional<std::uint64_t> total_;
  const bool is_shown_;
  const Clock::time_point begin_ = Clock::now();
  Clock::time_point drawn_ = begin_;
};

}  // namespace framefs
