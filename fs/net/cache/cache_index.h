#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "codec/core/units.h"
#include "fs/net/cache/cache_record.h"

namespace framefs::net {

// The positions of the records in the disk cache.
// Threads: one at a time.
class CacheIndex {
 public:
  struct Place {
    std::uint64_t offset = 0;  // in the object
    std::uint32_t length = 0;
    std::uint32_t segment = 0;
    std::uint32_t position = 0;  // of the record in its segment
    bool operator==(const Place&) const = default;
  };

  // Adds a record.  If the index has a record for the same offset that is at least as long, the
  // index keeps that record instead.
  void add(const CacheRecord& record, std::uint32_t segment, std::uint32_t position);
  // A record that holds byte `offset`.  If several records do, the result is the one that ends
  // last.
  [[nodiscard]] std::optional<Place> find(const ContentKey& key, std::uint64_t offset) const;
  // The offset of the first record that begins after byte `offset`.
  [[nodiscard]] std::optional<std::uint64_t> next_begin(const ContentKey& key,
                                                        std::uint64_t offset) const;
  [[nodiscard]] bool holds(const ContentKey& key, codec::ByteRange range) const;
  void remove(const ContentKey& key, const Place& place);
  void remove_segment(std::uint32_t segment);
  [[nodiscard]] std::uint64_t records() const { return records_; }

 private:
  using Places = std::vector<Place>;  // by offset

  std::unordered_map<ContentKey, Places, ContentKeyHash> objects_;
  std::uint64_t records_ = 0;
};

}  // namespace framefs::net
