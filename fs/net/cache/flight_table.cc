#include "fs/net/cache/flight_table.h"

namespace framefs::net {

auto FlightTable::find(const ContentKey& key, std::uint64_t offset) const -> FlightPtr {
  const auto* flight = flights_.find(key, offset);
  return flight == nullptr ? nullptr : *flight;
}

auto FlightTable::add(const ContentKey& key, ByteRange range, Priority priority) -> FlightPtr {
  auto flight = std::make_shared<Flight>(range, priority);
  if (flights_.insert(key, range, flight)) bytes_ += range.size;
  return flight;
}

void FlightTable::remove(const ContentKey& key, const FlightPtr& flight) {
  if (find(key, flight->range.offset) != flight) return;
  flights_.erase(key, flight->range.offset);
  bytes_ -= flight->range.size;
}

void FlightTable::join(std::span<const FlightPtr> flights) {
  for (const auto& flight : flights) ++flight->waiters;
}

auto FlightTable::leave(const ContentKey& key, std::span<const FlightPtr> flights) -> Unwanted {
  Unwanted unwanted;
  for (const auto& flight : flights) {
    const bool is_last = --flight->waiters == 0;
    if (!is_last || !flight->id || find(key, flight->range.offset) != flight) continue;
    unwanted.push_back(*flight->id);
    remove(key, flight);
  }
  return unwanted;
}

auto FlightTable::abandon(const ContentKey& key) -> Unwanted {
  Unwanted unwanted;
  flights_.erase_if(key, [&](const FlightPtr& flight) {
    if (flight->waiters > 0 || !flight->id) return false;
    unwanted.push_back(*flight->id);
    bytes_ -= flight->range.size;
    return true;
  });
  return unwanted;
}

}  // namespace framefs::net
