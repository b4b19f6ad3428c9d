#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "codec/core/units.h"

namespace framefs::net {

using codec::ByteRange;

// How ranges that are missing become requests.
struct FetchRules {
  std::uint64_t cheap_gap_bytes = 0;  // a gap up to here costs less than a round trip
  std::uint64_t max_part_bytes = 8 << 20;
  std::uint64_t min_part_bytes = 1 << 20;
  std::uint64_t connections = 16;  // among which a long range is divided
};

// Of what is fetched, at most so much was not asked for: 1 / kWasteShare.
inline constexpr std::uint64_t kWasteShare = 4;

// The requests for `missing`: ranges that are near each other become one, long ones are divided.
// `may_bridge(begin, end)` says whether the gap between two may be fetched with them.
std::vector<ByteRange> plan_fetches(std::vector<ByteRange> missing, const FetchRules& rules,
                                    const std::function<bool(ByteRange)>& may_bridge);

}  // namespace framefs::net
