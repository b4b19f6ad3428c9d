#pragma once

#include <cstddef>

#include "fs/net/http/call.h"
#include "fs/net/http/concurrency_limit.h"

namespace framefs::net {

// The places for requests that are under way at the same time: as many as the server accepts, and a
// part of them for prefetches.  A request that has stalled leaves its place to another one, because
// a server may answer for some objects only.
// Threads: one at a time.
class RequestSlots {
 public:
  using Time = ConcurrencyLimit::Time;
  // The place of one request.
  struct Slot {
    Priority priority = Priority::demand;  // the priority under which the request counts
    bool has_stalled = false;              // the request has left its place
  };

  [[nodiscard]] bool has_free(Priority priority) const;
  // Takes a place, even if none is free: a second request for one that has stalled needs none.
  // Each place that is taken is given back once.
  Slot take(Priority priority);
  void give_back(const Slot& slot);
  // The request takes far longer than others.  It leaves its place, unless kMaxStalled requests
  // have done so.  At most once for each slot.
  void note_stall(Slot& slot);
  // Whether a second request may be sent for one that has stalled.  If so, it counts as sent.
  [[nodiscard]] bool may_hedge();

  // As in ConcurrencyLimit.
  [[nodiscard]] std::size_t limit() const { return limit_.limit(); }
  void succeeded();
  void slowed_down(Time sent, Time now) { limit_.slowed_down(sent, now); }

  // The number of stalled requests that leave their places to others.  It bounds the load on a
  // server that is slow for all requests.
  static constexpr std::size_t kMaxStalled = 64;
  // The share of requests that may be sent twice.  Without this limit, a server that is slow for
  // all requests would get twice the load.
  static constexpr double kHedgeShare = 0.05;
  static constexpr double kFirstHedgeBudget = 2;
  static constexpr double kMaxHedgeBudget = 8;

 private:
  void leave(Priority priority);

  std::size_t active_ = 0;
  std::size_t active_prefetches_ = 0;
  std::size_t stalled_ = 0;
  ConcurrencyLimit limit_;
  double hedge_budget_ = kFirstHedgeBudget;
};

}  // namespace framefs::net
