#pragma once

#include <algorithm>
#include <chrono>

#include "fs/core/mount_options.h"

namespace framefs::fs {

// How long a listing is used, and what a lookup has found: that a name is absent, too.  It is as
// long as the requests took, within bounds, unless the options say otherwise.  An age counts from
// the end of the requests: a listing that takes minutes can be used, too.
class ListingAge {
 public:
  using Clock = std::chrono::steady_clock;

  explicit ListingAge(const MountOptions& options)
      : is_forever_(options.immutable),
        min_(options.remote.list_timeout_ms.value_or(kMinMs)),
        max_(options.remote.list_timeout_ms.value_or(kMaxMs)) {}

  // `begin` is when the first request was sent; the last one has just ended.
  [[nodiscard]] Clock::time_point fresh_until(Clock::time_point begin) const {
    if (is_forever_) return Clock::time_point::max();
    const auto now = Clock::now();
    return now + std::clamp<Clock::duration>(now - begin, min_, max_);
  }

 private:
  static constexpr unsigned kMinMs = 2'000;
  static constexpr unsigned kMaxMs = 60'000;

  const bool is_forever_;
  const std::chrono::milliseconds min_;
  const std::chrono::milliseconds max_;
};

}  // namespace framefs::fs
