#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "fs/core/threads/guarded.h"
#include "fs/net/cache/content_key.h"
#include "fs/net/cache/object_ranges.h"
#include "fs/net/cache/part_store.h"
#include "fs/net/http/request_queue.h"

namespace framefs::net {

// One request under way.
struct Flight {
  Flight(ByteRange of, Priority with) : range(of), priority(with) {}

  const ByteRange range;
  // Guarded by the lock of the FlightTable.
  Priority priority;
  std::optional<RequestQueue::Id> id;  // nothing until it is started
  std::uint64_t waiters = 0;           // see FlightTable::join()
  // Guarded.
  fs::Guarded<std::optional<Result<Part>>> landed;
};

// The requests under way, by the objects and the ranges that they fetch.
//
// Invariant: a byte of an object is fetched by one flight of the table.  A flight leaves the table
// when it lands, or when its last waiter leaves it; its request is then cancelled.
//
// Threads: one at a time.
class FlightTable {
 public:
  using FlightPtr = std::shared_ptr<Flight>;
  using Unwanted = std::vector<RequestQueue::Id>;  // requests for the caller to cancel

  // The flight that fetches the byte at `offset`; null if there is none.
  [[nodiscard]] FlightPtr find(const ContentKey& key, std::uint64_t offset) const;
  // The offset of the first flight that begins after byte `offset`.
  [[nodiscard]] std::optional<std::uint64_t> next_begin(const ContentKey& key,
                                                        std::uint64_t offset) const {
    return flights_.next_begin(key, offset);
  }
  // Whether a flight fetches a byte of `range`.
  [[nodiscard]] bool overlaps(const ContentKey& key, ByteRange range) const {
    return flights_.overlaps(key, range);
  }
  // The bytes that all flights fetch.
  [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_; }

  // Enters a new flight of a range that no other flight fetches.
  FlightPtr add(const ContentKey& key, ByteRange range, Priority priority);
  // Removes a flight that has landed, unless it has left the table.
  void remove(const ContentKey& key, const FlightPtr& flight);
  // Each flight gains a waiter.
  static void join(std::span<const FlightPtr> flights);
  // Each flight loses a waiter.  Removes those that were started and have no other.
  [[nodiscard]] Unwanted leave(const ContentKey& key, std::span<const FlightPtr> flights);
  // Removes the flights of an object that were started and have no waiter.
  [[nodiscard]] Unwanted abandon(const ContentKey& key);

 private:
  ObjectRanges<FlightPtr> flights_;
  std::uint64_t bytes_ = 0;
};

}  // namespace framefs::net
