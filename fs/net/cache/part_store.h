#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <vector>

#include "fs/net/cache/object_ranges.h"

namespace framefs::net {

// Stored bytes of an object, as the server sent them.
struct Part {
  std::uint64_t offset = 0;
  std::shared_ptr<const std::vector<std::byte>> bytes;

  [[nodiscard]] std::uint64_t end() const { return offset + bytes->size(); }
};

// Parts in memory, up to a budget.  The part that was least recently used is dropped first.
// Threads: one at a time.
class PartStore {
 public:
  explicit PartStore(std::uint64_t budget_bytes) : budget_bytes_(budget_bytes) {}
  PartStore(const PartStore&) = delete;
  PartStore& operator=(const PartStore&) = delete;

  // Adds a part.  If it overlaps a part in the store, the stored one stays.  A part that is larger
  // than the budget is not kept.  `is_ahead`: no reader has asked for it yet.
  void insert(const ContentKey& key, Part part, bool is_ahead = false);
  // The part that holds byte `offset`.  It becomes the most recently used part.
  std::optional<Part> find(const ContentKey& key, std::uint64_t offset);
  // A reader has found the part that holds byte `offset`.  Returns its size if it is the first
  // reader of a part that was fetched ahead, otherwise 0.
  std::uint64_t note_read(const ContentKey& key, std::uint64_t offset);
  // The offset of the first part that begins after byte `offset`.
  [[nodiscard]] std::optional<std::uint64_t> next_begin(const ContentKey& key,
                                                        std::uint64_t offset) const {
    return parts_.next_begin(key, offset);
  }
  // Whether a part holds a byte of `range`.
  [[nodiscard]] bool overlaps(const ContentKey& key, ByteRange range) const {
    return parts_.overlaps(key, range);
  }

  // Reserves `bytes` of the budget for data outside the store, such as requests under way.
  void reserve(std::uint64_t bytes);
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }

 private:
  struct Slot {
    ContentKey key;
    Part part;
    bool is_ahead;
  };
  using Slots = std::list<Slot>;  // the front goes first

  void evict();
  void remove(Slots::iterator slot);

  const std::uint64_t budget_bytes_;
  std::uint64_t reserved_bytes_ = 0;
  std::uint64_t bytes_ = 0;
  Slots slots_;
  ObjectRanges<Slots::iterator> parts_;
};

}  // namespace framefs::net
