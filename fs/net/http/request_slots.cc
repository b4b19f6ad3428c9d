#include "fs/net/http/request_slots.h"

#include <algorithm>

namespace framefs::net {

bool RequestSlots::has_free(Priority priority) const {
  if (active_ >= limit_.limit()) return false;
  return priority == Priority::demand || active_prefetches_ < limit_.prefetch_limit();
}

auto RequestSlots::take(Priority priority) -> Slot {
  ++active_;
  if (priority == Priority::prefetch) ++active_prefetches_;
  return {.priority = priority};
}

void RequestSlots::leave(Priority priority) {
  --active_;
  if (priority == Priority::prefetch) --active_prefetches_;
}

void RequestSlots::give_back(const Slot& slot) {
  if (slot.has_stalled) {
    --stalled_;
  } else {
    leave(slot.priority);
  }
}

void RequestSlots::note_stall(Slot& slot) {
  if (stalled_ >= kMaxStalled) return;
  slot.has_stalled = true;
  ++stalled_;
  leave(slot.priority);
}

bool RequestSlots::may_hedge() {
  if (hedge_budget_ < 1) return false;
  hedge_budget_ -= 1;
  return true;
}

void RequestSlots::succeeded() {
  limit_.succeeded();
  hedge_budget_ = std::min(kMaxHedgeBudget, hedge_budget_ + kHedgeShare);
}

}  // namespace framefs::net
