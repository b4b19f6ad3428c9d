#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace framefs {

// Shows the progress of long work on a terminal.  Prints nothing if standard error is not a
// terminal or if the user asked for silence.  Threads: one.
class ProgressBar {
 public:
  // `total` is the amount of work, if known.  Units: bytes.
  ProgressBar(std::string_view what, std::optional<std::uint64_t> total, bool quiet);
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;
  ~ProgressBar();  // erases the bar

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
