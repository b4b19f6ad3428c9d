#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace framefs::fs {

// A list of index entries that goes on changing while a commit uses it as it was.  Taking a
// snapshot copies nothing.  The first change while a snapshot lives copies the list.
// Threads: one may change it, or any number read it and take snapshots.
class SharedEntries {
 public:
  explicit SharedEntries(std::vector<std::int64_t> entries)
      : table_(std::make_shared<Table>(std::move(entries))) {}

  [[nodiscard]] const std::vector<std::int64_t>& get() const noexcept { return table_->entries; }
  // The list, to be changed.
  [[nodiscard]] std::vector<std::int64_t>& change() {
    // Acquire: what readers of a snapshot have read, they have read before the change.
    if (table_->snapshots.load(std::memory_order_acquire) != 0) {
      table_ = std::make_shared<Table>(table_->entries);
    }
    return table_->entries;
  }

 private:
  struct Table {
    explicit Table(std::vector<std::int64_t> from) : entries(std::move(from)) {}
    std::vector<std::int64_t> entries;
    std::atomic<unsigned> snapshots{0};
  };

 public:
  // The list at one moment.  Threads: any number.
  class Snapshot {
   public:
    explicit Snapshot(std::shared_ptr<Table> table) noexcept : table_(std::move(table)) {
      // Relaxed: the list does not change at the same time.
      table_->snapshots.fetch_add(1, std::memory_order_relaxed);
    }
    Snapshot(Snapshot&&) noexcept = default;
    Snapshot& operator=(Snapshot&&) = delete;
    ~Snapshot() {
      if (table_) table_->snapshots.fetch_sub(1, std::memory_order_release);  // see change()
    }
    [[nodiscard]] std::span<const std::int64_t> entries() const noexcept { return table_->entries; }

   private:
    std::shared_ptr<Table> table_;
  };
  [[nodiscard]] Snapshot snapshot() const { return Snapshot(table_); }

 private:
  std::shared_ptr<Table> table_;
};

}  // namespace framefs::fs
