#include "fs/net/cache/part_store.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace framefs::net {

void PartStore::insert(const ContentKey& key, Part part, bool is_ahead) {
  if (part.bytes->empty() || part.bytes->capacity() > budget_bytes_) return;
  const ByteRange range{part.offset, part.bytes->size()};
  if (parts_.overlaps(key, range)) return;
  bytes_ += part.bytes->capacity();
  slots_.push_back({key, std::move(part), is_ahead});
  parts_.insert(key, range, std::prev(slots_.end()));
  evict();
}

std::optional<Part> PartStore::find(const ContentKey& key, std::uint64_t offset) {
  const auto* slot = parts_.find(key, offset);
  if (slot == nullptr) return std::nullopt;
  slots_.splice(slots_.end(), slots_, *slot);
  return (*slot)->part;
}

std::uint64_t PartStore::note_read(const ContentKey& key, std::uint64_t offset) {
  const auto* slot = parts_.find(key, offset);
  const bool is_first = slot != nullptr && std::exchange((*slot)->is_ahead, false);
  return is_first ? (*slot)->part.bytes->size() : 0;
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
  parts_.erase(slot->key, slot->part.offset);
  bytes_ -= slot->part.bytes->capacity();
  slots_.erase(slot);
}

}  // namespace framefs::net
