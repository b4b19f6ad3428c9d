#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "fs/net/store/listing_budget.h"
#include "fs/net/store/remote_entry.h"

namespace framefs::net {

// The place of an entry in the order of keys: a folder counts as its name and a slash.
struct EntryPlace {
  std::string_view name;
  bool is_directory = false;

  // Less than, equal to or greater than 0, as the order of the two.
  static int compare(const EntryPlace& a, const EntryPlace& b);
  friend std::strong_ordering operator<=>(const EntryPlace& a, const EntryPlace& b) {
    return compare(a, b) <=> 0;
  }
  friend bool operator==(const EntryPlace& a, const EntryPlace& b) { return compare(a, b) == 0; }
};

// The entries of a folder, or of a page of its listing, in the order of keys.  A folder may have
// millions, so that an entry takes 24 bytes and its texts.  No two entries have the same place.
// Threads: as a constant value.
class EntryTable {
 public:
  EntryTable() = default;
  EntryTable(EntryTable&&) noexcept = default;
  EntryTable& operator=(EntryTable&&) noexcept = default;

  [[nodiscard]] std::size_t size() const { return records_.size(); }
  [[nodiscard]] bool empty() const { return records_.empty(); }
  // Lifetime: the results are valid as long as the table.
  [[nodiscard]] EntryPlace place(std::size_t index) const { return place_of(records_[index]); }
  [[nodiscard]] std::string_view name(std::size_t index) const { return place(index).name; }
  [[nodiscard]] bool is_directory(std::size_t index) const { return place(index).is_directory; }
  [[nodiscard]] bool is_exact(std::size_t index) const { return records_[index].is_exact; }
  [[nodiscard]] RemoteEntry entry(std::size_t index) const;
  [[nodiscard]] std::optional<std::size_t> find(const EntryPlace& place) const;
  // Units: bytes.
  [[nodiscard]] std::uint64_t memory() const;

 private:
  friend class EntryTableBuilder;
  struct Record {
    std::uint64_t size;
    std::int64_t mtime_ns;
    std::uint32_t text;  // where the name begins, which the ETag follows
    std::uint16_t etag_bytes;
    std::uint8_t name_bytes;
    bool is_directory : 1;
    bool is_exact : 1;
  };
  static_assert(sizeof(Record) == 24);

  [[nodiscard]] EntryPlace place_of(const Record& record) const {
    return {std::string_view(texts_).substr(record.text, record.name_bytes), record.is_directory};
  }

  std::vector<Record> records_;
  std::string texts_;
  ListingBudget::Charge charge_;
};

// Entries of a listing that no mount shows.
struct LeftOut {
  std::uint64_t count = 0;
  std::string first;  // the name of one of them

  void add(std::string_view name) {
    if (count++ == 0) first = name;
  }
  void add(const LeftOut& other) {
    if (count == 0) first = other.first;
    count += other.count;
  }
};

// A listing, or one page of it.
struct ListedPage {
  EntryTable table;
  LeftOut unnameable;                   // no file can have their names
  LeftOut covered;                      // objects with the name of a folder
  std::vector<RemoteEntry> with_heads;  // the entries of the table that have a head
  std::string continuation;             // for the next page; "" at the end
};

// Takes the entries of a listing one by one: together they would take many times the memory of its
// text.  An error ends the listing.
using TakeEntry = std::function<Status(const RemoteEntry& entry)>;

// Makes a table from entries in any order.
// Threads: one.
class EntryTableBuilder {
 public:
  // The table keeps the charge.
  explicit EntryTableBuilder(ListingBudget::Charge charge) { table_.charge_ = std::move(charge); }

  // Leaves out names that no file can have.  An entry without a name is the folder itself.
  // Errors: over_limit; ENOMEM if the budget has no room for the entry.
  Status add(const RemoteEntry& entry);
  // The entries in order.  Of entries with the same place, the first one is kept; of a folder and
  // an object with the same name, the folder.
  ListedPage finish();

 private:
  Status charge(std::uint64_t bytes);

  EntryTable table_;
  ListedPage page_;
  std::uint64_t charged_ = 0;
  std::uint64_t needed_ = 0;
};

}  // namespace framefs::net
