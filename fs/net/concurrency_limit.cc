#include "fs/net/concurrency_limit.h"

#include <algorithm>

namespace framefs::net {

std::size_t ConcurrencyLimit::prefetch_limit() const {
  return std::max<std::size_t>(1, limit() * 3 / 4);
}

void ConcurrencyLimit::succeeded() {
  // One more for each answer doubles it in a round trip; later, one more for each round trip.
  limit_ = std::min<double>(kMax, limit_ + (is_probing_ ? 1.0 : 1.0 / limit_));
}

void ConcurrencyLimit::slowed_down(Time sent, Time now) {
  is_probing_ = false;
  if (sent <= lowered_) return;
  limit_ = std::max(1.0, limit_ / 2);
  lowered_ = now;
}

}  // namespace framefs::net
