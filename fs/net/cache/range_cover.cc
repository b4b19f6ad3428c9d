#include "fs/net/cache/range_cover.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <utility>

namespace framefs::net {

Want Want::piece(std::uint64_t from, std::uint64_t to) const {
  return {{from, to - from}, out == nullptr ? nullptr : out + (from - range.offset)};
}

void Want::take(const Part& part) const {
  if (out == nullptr) return;
  const auto from = std::max(part.offset, range.offset);
  const auto to = std::min(part.end(), end());
  if (from >= to) return;
  std::memcpy(out + (from - range.offset), part.bytes->data() + (from - part.offset), to - from);
}

void RangeCover::add(const ContentKey& key, const Want& want, PartStore& parts,
                     const FlightTable& table) {
  for (auto at = want.range.offset; at < want.end();) {
    auto end = want.end();
    if (auto part = parts.find(key, at)) {
      if (want.out != nullptr) first_read_bytes += parts.note_read(key, at);
      end = std::min(end, part->end());
      ready.push_back({want.piece(at, end), std::move(*part)});
    } else if (const auto flight = table.find(key, at)) {
      end = std::min(end, flight->range.offset + flight->range.size);
      joined.push_back(want.piece(at, end));
      if (std::ranges::find(flights, flight) == flights.end()) flights.push_back(flight);
    } else {
      end = std::min(end, parts.next_begin(key, at).value_or(end));
      end = std::min(end, table.next_begin(key, at).value_or(end));
      missing.push_back(want.piece(at, end));
    }
    at = end;
  }
}

void RangeCover::supply_missing(const std::vector<FlightTable::FlightPtr>& made) {
  std::ranges::copy(made, std::back_inserter(flights));
  std::ranges::move(missing, std::back_inserter(joined));
  missing.clear();
}

}  // namespace framefs::net
