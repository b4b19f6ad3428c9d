#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "fs/net/cache/content_key.h"
#include "fs/net/cache/flight_table.h"
#include "fs/net/cache/part_store.h"

namespace framefs::net {

// A range of an object that a reader wants, and the memory for its bytes.  A range that a reader is
// only expected to want has no memory yet.
struct Want {
  ByteRange range;
  std::byte* out = nullptr;

  [[nodiscard]] std::uint64_t end() const { return range.offset + range.size; }
  // The part of it from byte `from` to byte `to` of the object, which lie within it.
  [[nodiscard]] Want piece(std::uint64_t from, std::uint64_t to) const;
  // Copies those of its bytes that `part` holds, which may be none, into its memory.
  void take(const Part& part) const;
};

// How the wants of one reader are supplied, at the moment at which they are added: by parts in
// memory, by requests under way, or by requests that are still to be made.
//
// Invariants: each byte of a want that was added lies in one piece, which is in `ready`, `joined`
// or `missing`.  Each flight that fetches a byte of `joined` is in `flights` once.
//
// Threads: one at a time; add() under the lock of the parts and the flights.
struct RangeCover {
  struct Ready {
    Want want;
    Part part;  // holds all of `want`
  };
  std::vector<Ready> ready;
  std::vector<Want> joined;
  std::vector<FlightTable::FlightPtr> flights;
  std::vector<Want> missing;
  // The sizes of the parts that were fetched ahead, and of which `ready` has the first reader.
  std::uint64_t first_read_bytes = 0;

  // Adds a want.  The reader does not wait for the flights until it joins them.
  void add(const ContentKey& key, const Want& want, PartStore& parts, const FlightTable& table);
  // New flights fetch all that is missing.
  void supply_missing(const std::vector<FlightTable::FlightPtr>& made);
};

}  // namespace framefs::net
