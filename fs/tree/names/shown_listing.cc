#include "fs/tree/names/shown_listing.h"

namespace framefs::fs {

Result<bool> CompleteListing::read(std::uint64_t from, const Take& take) const {
  for (auto at = from; at < entries_.size(); ++at) {
    if (!take(entries_[at], at + 1)) return false;
  }
  return true;
}

}  // namespace framefs::fs
