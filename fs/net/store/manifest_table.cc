#include "fs/net/store/manifest_table.h"

#include <algorithm>
#include <memory>
#include <span>
#include <utility>

namespace framefs::net {
namespace {

// The bits of a record for the size of a head, which the parser limits.
constexpr std::uint32_t kHeadMask = (1u << 30) - 1;
static_assert(kMaxManifestHeadBytes <= kHeadMask);

}  // namespace

Result<ManifestTable> ManifestTable::parse(std::string_view json, ListingBudget::Charge charge) {
  ManifestTable table;
  table.charge_ = std::move(charge);
  const auto take = [&](const ManifestFile& file) -> Status {
    const auto& entry = file.entry;
    const auto head_bytes = entry.head ? entry.head->size() : 0;
    const auto text_bytes = file.path.size() + entry.etag.size() + head_bytes;
    if (!table.charge_.grow(sizeof(Record) + text_bytes)) return over_listing_budget();
    table.records_.push_back({.size = entry.size,
                              .mtime_ns = entry.mtime_ns,
                              .text = static_cast<std::uint32_t>(table.texts_.size()),
                              .path_bytes = static_cast<std::uint32_t>(file.path.size()),
                              .etag_bytes = static_cast<std::uint32_t>(entry.etag.size()),
                              .head_bytes = static_cast<std::uint32_t>(head_bytes) & kHeadMask,
                              .has_head = entry.head != nullptr,
                              .is_exact = entry.is_exact});
    table.texts_.append(file.path).append(entry.etag);
    if (head_bytes > 0) {
      // The cast is right: char may alias every type.
      table.texts_.append(reinterpret_cast<const char*>(entry.head->data()), head_bytes);
    }
    return {};
  };
  FRAMEFS_CHECK(parse_manifest(json, take));
  // Of files with the same path, the first one counts.
  std::ranges::stable_sort(table.records_, {},
                           [&](const Record& record) { return table.path_of(record); });
  table.records_.shrink_to_fit();
  table.texts_.shrink_to_fit();
  table.charge_.shrink_to(table.memory());
  return table;
}

std::uint64_t ManifestTable::memory() const {
  return records_.size() * sizeof(Record) + texts_.size();
}

RemoteEntry ManifestTable::entry_of(const Record& record) const {
  RemoteEntry entry;
  entry.is_exact = record.is_exact;
  entry.size = record.size;
  entry.mtime_ns = record.mtime_ns;
  const auto etag_at = std::size_t{record.text} + record.path_bytes;
  entry.etag = texts_.substr(etag_at, record.etag_bytes);
  if (record.has_head) {
    const auto head =
        std::as_bytes(std::span(texts_)).subspan(etag_at + record.etag_bytes, record.head_bytes);
    entry.head = std::make_shared<const std::vector<std::byte>>(head.begin(), head.end());
  }
  return entry;
}

Status ManifestTable::list(std::string_view folder, const TakeEntry& take) const {
  const auto prefix = folder.empty() ? std::string() : std::string(folder) + "/";
  const auto path = [this](const Record& record) { return path_of(record); };
  auto at = std::ranges::lower_bound(records_, std::string_view(prefix), {}, path);
  while (at != records_.end() && path_of(*at).starts_with(prefix)) {
    const auto name = path_of(*at).substr(prefix.size());
    const auto slash = name.find('/');
    RemoteEntry entry;
    if (slash == std::string_view::npos) {
      entry = entry_of(*at++);
      entry.name = name;
    } else {
      entry.name = name.substr(0, slash);
      entry.is_directory = true;
      // No path of the folder follows this text.
      const auto behind = prefix + entry.name + static_cast<char>('/' + 1);
      at = std::ranges::lower_bound(at, records_.end(), std::string_view(behind), {}, path);
    }
    FRAMEFS_CHECK(take(entry));
  }
  return {};
}

}  // namespace framefs::net
