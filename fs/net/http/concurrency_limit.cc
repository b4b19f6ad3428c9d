#include "fs/net/http/concurrency_limit.h"

#include <algorithm>

namespace framefs::net {

std::size_t ConcurrencyLimit::prefetch_limit() const {
  return std::max<std::size_t>(1, limit() * 3 / 4);
}

void ConcurrencyLimit::succeeded() {
  // While probing, the limit grows by one per answer, which doubles it in a round trip.  Later it
  // grows by one per round trip.
  limit_ = std::min<double>(kMax, limit_ + (is_probing_ ? 1.0 : 1.0 / limit_));
}

void ConcurrencyLimit::slowed_down(Time sent, Time now) {
  is_probing_ = false;
  if (sent <= lowered_) return;
  limit_ = std::max(1.0, limit_ / 2);
  lowered_ = now;
}

}  // namespace framefs::net
