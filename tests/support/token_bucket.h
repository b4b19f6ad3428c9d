#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>

namespace framefs::test {

// The bytes that a direction of the link may send now.
class TokenBucket {
 public:
  void limit(double rate) {
    rate_ = rate;
    tokens_ = 0;
  }
  void refill(std::chrono::steady_clock::time_point now) {
    const auto most = std::max(rate_ * 0.002, static_cast<double>(2 * kSliceBytes));
    tokens_ = std::min(most, tokens_ + rate_ * std::chrono::duration<double>(now - last_).count());
    last_ = now;
  }
  [[nodiscard]] bool is_empty() const { return rate_ > 0 && tokens_ <= 0; }
  // The most bytes to send at a time.
  [[nodiscard]] std::size_t slice(std::size_t most) const {
    return rate_ > 0 ? std::min(most, kSliceBytes) : most;
  }
  void spend(std::size_t bytes) { tokens_ -= static_cast<double>(bytes); }
  [[nodiscard]] std::chrono::steady_clock::time_point next(
      std::chrono::steady_clock::time_point now) const {
    return now + std::chrono::duration_cast<Clock::duration>(
                     std::chrono::duration<double>((1 - tokens_) / rate_));
  }

 private:
  using Clock = std::chrono::steady_clock;
  // A limited link sends pieces of this size, so that its connections share it evenly.
  static constexpr std::size_t kSliceBytes = 16 << 10;

  double rate_ = 0;
  double tokens_ = 0;
  Clock::time_point last_ = Clock::now();
};

}  // namespace framefs::test
