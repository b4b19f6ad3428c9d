#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "codec/core/units.h"
#include "fs/net/cache_record.h"

namespace framefs::net {

// Where the records of the disk cache lie.
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

  // Where a record for the same offset is known that is no shorter, that one stays.
  void add(const CacheRecord& record, std::uint32_t segment, std::uint32_t position);
  // A record that holds byte `offset`; of several the one that reaches furthest.
  [[nodiscard]] std::optional<Place> find(const ContentKey& key, std::uint64_t offset) const;
  // Where the first record behind byte `offset` begins.
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
