#include "fs/net/cache/part_store.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace framefs::net {

void PartStore::insert(const ContentKey& key, Part part, bool is_ahead) {
  if (part.bytes->empty() || part.bytes->capacity() > budget_bytes_) return;
  auto& parts = objects_[key];
  const auto next = parts.lower_bound(part.offset);
  const bool overlaps_next = next != parts.end() && next->first < part.end();
  const bool overlaps_previous =
      next != parts.begin() && std::prev(next)->second->part.end() > part.offset;
  if (overlaps_next || overlaps_previous) return;
  const auto offset = part.offset;
  bytes_ += part.bytes->capacity();
  slots_.push_back({key, std::move(part), is_ahead});
  parts.emplace(offset, std::prev(slots_.end()));
  evict();
}

auto PartStore::locate(const ByOffset& parts, std::uint64_t offset) const
    -> ByOffset::const_iterator {
  auto next = parts.upper_bound(offset);
  if (next == parts.begin()) return parts.end();
  --next;
  return next->second->part.end() > offset ? next : parts.end();
}

std::optional<Part> PartStore::find(const ContentKey& key, std::uint64_t offset) {
  const auto object = objects_.find(key);
  if (object == objects_.end()) return std::nullopt;
  const auto place = locate(object->second, offset);
  if (place == object->second.end()) return std::nullopt;
  slots_.splice(slots_.end(), slots_, place->second);
  return place->second->part;
}

std::uint64_t PartStore::note_read(const ContentKey& key, std::uint64_t offset) {
  const auto object = objects_.find(key);
  if (object == objects_.end()) return 0;
  const auto place = locate(object->second, offset);
  if (place == object->second.end()) return 0;
  auto& slot = *place->second;
  return std::exchange(slot.is_ahead, false) ? slot.part.bytes->size() : 0;
}

std::optional<std::uint64_t> PartStore::next_begin(const ContentKey& key,
                                                   std::uint64_t offset) const {
  const auto object = objects_.find(key);
  if (object == objects_.end()) return std::nullopt;
  const auto next = object->second.upper_bound(offset);
  if (next == object->second.end()) return std::nullopt;
  return next->first;
}

void PartStore::drop(const ContentKey& key) {
  const auto object = objects_.extract(key);
  if (!object) return;
  for (const auto& [offset, slot] : object.mapped()) {
    bytes_ -= slot->part.bytes->capacity();
    slots_.erase(slot);
  }
}

void PartStore::reserve(std::uint64_t bytes) {
  reserved_bytes_ = bytes;
  evict();
}

void PartStore::evict() {
  const auto allowed = budget_bytes_ - std::min(budget_bytes_, reserved_bytes_);
  while (bytes_ > allowed && !slots_.empty()) remove(slots_.begin());
}

void PartStore::remove(Slots::iterator slot) {
  const auto object = objects_.find(slot->key);
  object->second.erase(slot->part.offset);
  if (object->second.empty()) objects_.erase(object);
  bytes_ -= slot->part.bytes->capacity();
  slots_.erase(slot);
}

}  // namespace framefs::net
