#include "fs/net/cache/cache_index.h"

#include <algorithm>

namespace framefs::net {

void CacheIndex::add(const CacheRecord& record, std::uint32_t segment, std::uint32_t position) {
  auto& places = objects_[record.key];
  const Place place{record.offset, record.length, segment, position};
  const auto at = std::ranges::lower_bound(places, record.offset, {}, &Place::offset);
  if (at == places.end() || at->offset != record.offset) {
    places.insert(at, place);
    ++records_;
  } else if (at->length < place.length) {
    *at = place;
  }
}

auto CacheIndex::find(const ContentKey& key, std::uint64_t offset) const -> std::optional<Place> {
  const auto object = objects_.find(key);
  if (object == objects_.end()) return std::nullopt;
  const auto& places = object->second;
  // No record is longer than kMaxRecordBytes, so no record that begins earlier reaches `offset`.
  const auto earliest = offset - std::min<std::uint64_t>(offset, kMaxRecordBytes - 1);
  std::optional<Place> best;
  for (auto at = std::ranges::lower_bound(places, earliest, {}, &Place::offset);
       at != places.end() && at->offset <= offset; ++at) {
    const auto end = at->offset + at->length;
    if (end > offset && (!best || end > best->offset + best->length)) best = *at;
  }
  return best;
}

std::optional<std::uint64_t> CacheIndex::next_begin(const ContentKey& key,
                                                    std::uint64_t offset) const {
  const auto object = objects_.find(key);
  if (object == objects_.end()) return std::nullopt;
  const auto at = std::ranges::upper_bound(object->second, offset, {}, &Place::offset);
  if (at == object->second.end()) return std::nullopt;
  return at->offset;
}

bool CacheIndex::holds(const ContentKey& key, codec::ByteRange range) const {
  const auto end = range.offset + range.size;
  for (auto at = range.offset; at < end;) {
    const auto place = find(key, at);
    if (!place) return false;
    at = place->offset + place->length;
  }
  return true;
}

void CacheIndex::remove(const ContentKey& key, const Place& place) {
  const auto object = objects_.find(key);
  if (object == objects_.end()) return;
  records_ -= std::erase(object->second, place);
  if (object->second.empty()) objects_.erase(object);
}

void CacheIndex::remove_segment(std::uint32_t segment) {
  for (auto& [key, places] : objects_) {
    records_ -= std::erase_if(places, [&](const Place& place) { return place.segment == segment; });
  }
  std::erase_if(objects_, [](const auto& object) { return object.second.empty(); });
}

}  // namespace framefs::net
