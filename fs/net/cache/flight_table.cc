#include "fs/net/cache/flight_table.h"

#include <iterator>

namespace framefs::net {

auto FlightTable::find(const ContentKey& key, std::uint64_t offset) const -> FlightPtr {
  const auto object = objects_.find(key);
  if (object == objects_.end()) return nullptr;
  const auto next = object->second.upper_bound(offset);
  if (next == object->second.begin()) return nullptr;
  const auto& flight = std::prev(next)->second;
  return offset - flight->range.offset < flight->range.size ? flight : nullptr;
}

std::optional<std::uint64_t> FlightTable::next_begin(const ContentKey& key,
                                                     std::uint64_t offset) const {
  const auto object = objects_.find(key);
  if (object == objects_.end()) return std::nullopt;
  const auto next = object->second.upper_bound(offset);
  if (next == object->second.end()) return std::nullopt;
  return next->first;
}

auto FlightTable::add(const ContentKey& key, ByteRange range, Priority priority) -> FlightPtr {
  auto flight = std::make_shared<Flight>(range, priority);
  if (objects_[key].emplace(range.offset, flight).second) bytes_ += range.size;
  return flight;
}

void FlightTable::remove(const ContentKey& key, const FlightPtr& flight) {
  const auto object = objects_.find(key);
  if (object == objects_.end()) return;
  const auto place = object->second.find(flight->range.offset);
  if (place == object->second.end() || place->second != flight) return;
  object->second.erase(place);
  bytes_ -= flight->range.size;
  if (object->second.empty()) objects_.erase(object);
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
  const auto object = objects_.find(key);
  if (object == objects_.end()) return unwanted;
  std::erase_if(object->second, [&](const auto& entry) {
    const auto& flight = entry.second;
    if (flight->waiters > 0 || !flight->id) return false;
    unwanted.push_back(*flight->id);
    bytes_ -= flight->range.size;
    return true;
  });
  if (object->second.empty()) objects_.erase(object);
  return unwanted;
}

}  // namespace framefs::net
