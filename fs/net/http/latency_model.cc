#include "fs/net/http/latency_model.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace framefs::net {
namespace {

using std::chrono::duration;
using std::chrono::milliseconds;

constexpr double kFirstBucketS = 64e-6;
// The number of samples that count; older samples fade.
constexpr double kRememberedSamples = 1000;
constexpr double kFewSamples = 32;
// A smaller body gives no useful estimate of the rate.
constexpr std::uint64_t kRateBytes = 64 << 10;
constexpr duration<double> kWindow{0.1};
// The rate before the first measurement.
constexpr double kAssumedRate = 20e6;
constexpr milliseconds kAssumedRoundTrip{10};
constexpr milliseconds kAssumedStall{3'000};
constexpr milliseconds kShortestStall{100};
constexpr milliseconds kLongestStall{10'000};

std::size_t bucket_of(double seconds, std::size_t count) {
  if (seconds <= kFirstBucketS) return 0;
  const auto bucket = static_cast<std::size_t>(4 * std::log2(seconds / kFirstBucketS)) + 1;
  return std::min(bucket, count - 1);
}

double in_seconds(LatencyModel::Duration time) { return duration<double>(time).count(); }

LatencyModel::Duration from_seconds(double value) {
  return std::chrono::duration_cast<LatencyModel::Duration>(duration<double>(value));
}

}  // namespace

void LatencyModel::note(std::uint64_t bytes, Duration first_byte, Duration total, Time now) {
  if (samples_ >= kRememberedSamples) {
    for (auto& bucket : buckets_) bucket /= 2;
    samples_ /= 2;
  }
  buckets_[bucket_of(in_seconds(first_byte), buckets_.size())] += 1;
  samples_ += 1;

  const double body_time = in_seconds(total - first_byte);
  if (bytes >= kRateBytes && body_time > 0) {
    const double rate = static_cast<double>(bytes) / body_time;
    connection_rate_ = connection_rate_ == 0 ? rate : 0.9 * connection_rate_ + 0.1 * rate;
  }

  if (now - window_begin_ > kWindow) {
    // A window that contains a pause underestimates the rate; the window before it is better.
    const double rate = static_cast<double>(window_bytes_) / in_seconds(now - window_begin_);
    total_rate_ = std::max(rate, 0.9 * total_rate_);
    window_begin_ = now;
    window_bytes_ = 0;
  }
  window_bytes_ += bytes;
}

LatencyModel::Duration LatencyModel::percentile(unsigned percent) const {
  if (samples_ == 0) return kAssumedRoundTrip;
  double left = samples_ * percent / 100;
  for (std::size_t i = 0; i < buckets_.size(); ++i) {
    left -= buckets_[i];
    if (left <= 0) return from_seconds(kFirstBucketS * std::exp2(static_cast<double>(i) / 4));
  }
  return kLongestStall;
}

LatencyModel::Duration LatencyModel::stall_time(std::uint64_t bytes) const {
  if (samples_ < kFewSamples) return kAssumedStall;
  const double rate = connection_rate_ > 0 ? connection_rate_ : kAssumedRate;
  const auto transfer = from_seconds(4 * static_cast<double>(bytes) / rate);
  return std::clamp<Duration>(2 * percentile(99) + transfer, kShortestStall, kLongestStall);
}

std::uint64_t LatencyModel::cheap_gap_bytes() const {
  const double rate = connection_rate_ > 0 ? connection_rate_ : kAssumedRate;
  const double gap = rate * in_seconds(round_trip());
  return static_cast<std::uint64_t>(std::min<double>(gap, kMaxGapBytes));
}

std::uint64_t LatencyModel::pipe_bytes() const {
  return static_cast<std::uint64_t>(total_rate_ * in_seconds(round_trip()));
}

std::uint64_t LatencyModel::first_pipe_bytes() const {
  const auto rate = std::max(total_rate_, connection_rate_);
  return static_cast<std::uint64_t>(rate * in_seconds(round_trip()));
}

}  // namespace framefs::net
