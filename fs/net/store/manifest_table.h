#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "fs/net/store/entry_table.h"
#include "fs/net/store/listing_budget.h"
#include "fs/net/store/manifest.h"

namespace framefs::net {

// The files of a manifest, from which the listings of all folders are made.  A manifest may have
// millions, so that a file takes 32 bytes, its texts and its head.
// Threads: as a constant value.
class ManifestTable {
 public:
  // The table keeps the charge.
  // Errors: those of parse_manifest(); ENOMEM if the budget has no room for the files.
  static Result<ManifestTable> parse(std::string_view json, ListingBudget::Charge charge);

  // Takes the entries that lie directly in `folder`, the root's being "", each folder once.
  // Errors: those of `take`.
  Status list(std::string_view folder, const TakeEntry& take) const;
  // Units: bytes.
  [[nodiscard]] std::uint64_t memory() const;

 private:
  struct Record {
    std::uint64_t size;
    std::int64_t mtime_ns;
    std::uint32_t text;  // where the path begins, which the ETag and the head follow
    std::uint32_t path_bytes;
    std::uint32_t etag_bytes;
    std::uint32_t head_bytes : 30;
    std::uint32_t has_head : 1;
    std::uint32_t is_exact : 1;
  };
  static_assert(sizeof(Record) == 32);
  static_assert(kMaxManifestBytes <= std::numeric_limits<std::uint32_t>::max());

  [[nodiscard]] std::string_view path_of(const Record& record) const {
    return std::string_view(texts_).substr(record.text, record.path_bytes);
  }
  [[nodiscard]] RemoteEntry entry_of(const Record& record) const;

  std::vector<Record> records_;  // by path
  std::string texts_;
  ListingBudget::Charge charge_;
};

}  // namespace framefs::net
