#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "codec/core/units.h"

namespace framefs::net {

using codec::ByteRange;

// The rules by which missing ranges become requests.
struct FetchRules {
  std::uint64_t cheap_gap_bytes = 0;  // fetching a gap of this size costs less than a round trip
  std::uint64_t max_part_bytes = 8 << 20;
  std::uint64_t min_part_bytes = 1 << 20;
  std::uint64_t connections = 16;  // a long range is divided among them
};

// At most 1 / kWasteShare of the fetched bytes are bytes that no caller requested.
inline constexpr std::uint64_t kWasteShare = 4;

// The requests for `missing`.  Ranges that are near each other become one request; a long range is
// divided.  `may_bridge(begin, end)` says whether the gap between two ranges may be fetched too.
std::vector<ByteRange> plan_fetches(std::vector<ByteRange> missing, const FetchRules& rules,
                                    const std::function<bool(ByteRange)>& may_bridge);

}  // namespace framefs::net
