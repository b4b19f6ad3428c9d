#pragma once

#include <cstdint>
#include <iterator>
#include <map>
#include <optional>
#include <unordered_map>
#include <utility>

#include "codec/core/units.h"
#include "fs/net/cache/content_key.h"

namespace framefs::net {

using codec::ByteRange;

// A value for each of some ranges of objects.  A range is found by a byte in it, so that ranges of
// an object should not overlap.
// Threads: one at a time.
template <class Value>
class ObjectRanges {
 public:
  // The value of the range that holds byte `offset`; null if there is none.  It is valid until the
  // range is erased.
  [[nodiscard]] const Value* find(const ContentKey& key, std::uint64_t offset) const {
    const auto object = objects_.find(key);
    if (object == objects_.end()) return nullptr;
    const auto next = object->second.upper_bound(offset);
    if (next == object->second.begin()) return nullptr;
    const auto& entry = std::prev(next)->second;
    return offset < entry.end ? &entry.value : nullptr;
  }

  // The offset of the first range that begins after byte `offset`.
  [[nodiscard]] std::optional<std::uint64_t> next_begin(const ContentKey& key,
                                                        std::uint64_t offset) const {
    const auto object = objects_.find(key);
    if (object == objects_.end()) return std::nullopt;
    const auto next = object->second.upper_bound(offset);
    if (next == object->second.end()) return std::nullopt;
    return next->first;
  }

  // Whether a byte of `range` lies in a range.
  [[nodiscard]] bool overlaps(const ContentKey& key, ByteRange range) const {
    const auto end = range.offset + range.size;
    return find(key, range.offset) != nullptr || next_begin(key, range.offset).value_or(end) < end;
  }

  // Returns whether the range is new: no other one begins at its offset.
  bool insert(const ContentKey& key, ByteRange range, Value value) {
    const auto end = range.offset + range.size;
    return objects_[key].try_emplace(range.offset, Entry{end, std::move(value)}).second;
  }

  // Erases the range that begins at `offset`.
  void erase(const ContentKey& key, std::uint64_t offset) {
    const auto object = objects_.find(key);
    if (object == objects_.end()) return;
    object->second.erase(offset);
    if (object->second.empty()) objects_.erase(object);
  }

  // Erases the ranges of an object for whose values `predicate` returns true.
  template <class Predicate>
  void erase_if(const ContentKey& key, Predicate predicate) {
    const auto object = objects_.find(key);
    if (object == objects_.end()) return;
    std::erase_if(object->second, [&](const auto& entry) { return predicate(entry.second.value); });
    if (object->second.empty()) objects_.erase(object);
  }

 private:
  struct Entry {
    std::uint64_t end;
    Value value;
  };
  std::unordered_map<ContentKey, std::map<std::uint64_t, Entry>, ContentKeyHash> objects_;
};

}  // namespace framefs::net
