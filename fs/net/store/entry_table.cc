#include "fs/net/store/entry_table.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <limits>
#include <utility>

namespace framefs::net {
namespace {

// A longer ETag counts as none.
constexpr std::size_t kMaxEtagBytes = 1024;
// The budget is asked once for many entries.
constexpr std::uint64_t kChargeStep = 64 << 10;

}  // namespace

int EntryPlace::compare(const EntryPlace& a, const EntryPlace& b) {
  const auto common = std::min(a.name.size(), b.name.size());
  const int order = std::memcmp(a.name.data(), b.name.data(), common);
  if (order != 0) return order;
  // The byte behind the common part; -1 is the end.
  const auto next = [common](const EntryPlace& place) {
    if (common < place.name.size()) return int{static_cast<unsigned char>(place.name[common])};
    return place.is_directory ? int{'/'} : -1;
  };
  return next(a) - next(b);
}

RemoteEntry EntryTable::entry(std::size_t index) const {
  const auto& record = records_[index];
  RemoteEntry entry;
  entry.name = place_of(record).name;
  entry.is_directory = record.is_directory;
  entry.is_exact = record.is_exact;
  entry.size = record.size;
  entry.mtime_ns = record.mtime_ns;
  entry.etag = texts_.substr(record.text + record.name_bytes, record.etag_bytes);
  return entry;
}

std::optional<std::size_t> EntryTable::find(const EntryPlace& place) const {
  const auto at = std::ranges::lower_bound(records_, place, {},
                                           [this](const Record& one) { return place_of(one); });
  if (at == records_.end() || place_of(*at) != place) return std::nullopt;
  return static_cast<std::size_t>(at - records_.begin());
}

std::uint64_t EntryTable::memory() const {
  return records_.size() * sizeof(Record) + texts_.size();
}

Status EntryTableBuilder::charge(std::uint64_t bytes) {
  needed_ += bytes;
  if (needed_ <= charged_) return {};
  const auto step = std::max(needed_ - charged_, kChargeStep);
  if (!table_.charge_.grow(step)) return over_listing_budget();
  charged_ += step;
  return {};
}

Status EntryTableBuilder::add(const RemoteEntry& entry) {
  if (!is_file_name(entry.name)) {
    if (!entry.name.empty()) page_.unnameable.add(entry.name);
    return {};
  }
  const auto etag = entry.etag.size() <= kMaxEtagBytes ? std::string_view(entry.etag) : "";
  const auto text_bytes = entry.name.size() + etag.size();
  const auto at = table_.texts_.size();
  if (table_.records_.size() >= kMaxListingEntries ||
      text_bytes > std::numeric_limits<std::uint32_t>::max() - at) {
    return codec::fail(Errc::over_limit, "listing");
  }
  const auto head_bytes = entry.head ? entry.head->size() : 0;
  FRAMEFS_CHECK(charge(sizeof(EntryTable::Record) + text_bytes + head_bytes));
  table_.texts_.append(entry.name).append(etag);
  table_.records_.push_back({.size = entry.size,
                             .mtime_ns = entry.mtime_ns,
                             .text = static_cast<std::uint32_t>(at),
                             .etag_bytes = static_cast<std::uint16_t>(etag.size()),
                             .name_bytes = static_cast<std::uint8_t>(entry.name.size()),
                             .is_directory = entry.is_directory,
                             .is_exact = entry.is_exact});
  if (!entry.head) return {};
  page_.with_heads.push_back(entry);
  return {};
}

ListedPage EntryTableBuilder::finish() {
  auto& records = table_.records_;
  const auto place_of = [this](const EntryTable::Record& record) {
    return table_.place_of(record);
  };
  // Servers of S3 send the keys in order.
  if (!std::ranges::is_sorted(records, {}, place_of)) {
    // The texts lie in the order in which the entries came.
    std::ranges::sort(records, [&](const auto& a, const auto& b) {
      const int order = EntryPlace::compare(place_of(a), place_of(b));
      return order != 0 ? order < 0 : a.text < b.text;
    });
  }
  const auto is_same = [&](const auto& a, const auto& b) { return place_of(a) == place_of(b); };
  const auto again = std::ranges::unique(records, is_same);
  records.erase(again.begin(), again.end());
  const bool has_folders =
      std::ranges::any_of(records, [](const auto& record) -> bool { return record.is_directory; });
  const auto is_covered = [&](const auto& record) {
    if (!has_folders || record.is_directory) return false;
    return std::ranges::binary_search(records, EntryPlace{place_of(record).name, true}, {},
                                      place_of);
  };
  std::vector<EntryTable::Record> covered;
  std::ranges::copy_if(records, std::back_inserter(covered), is_covered);
  for (const auto& record : covered) page_.covered.add(place_of(record).name);
  if (!covered.empty()) {
    std::erase_if(records, [&](const auto& record) {
      return std::ranges::binary_search(covered, place_of(record), {}, place_of);
    });
  }
  // A page has few entries, and room for as many again would add up.
  constexpr std::size_t kSmall = 1 << 20;
  if (table_.texts_.capacity() <= kSmall) table_.texts_.shrink_to_fit();
  records.shrink_to_fit();
  table_.charge_.shrink_to(table_.memory());
  page_.table = std::move(table_);
  return std::move(page_);
}

}  // namespace framefs::net
