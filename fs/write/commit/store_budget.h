#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "fs/core/threads/guarded.h"

namespace framefs::fs {

// Limits the memory that a whole mount takes to store chunks, in addition to the chunks themselves.
// Small, medium and large batches have limits of their own, so that a small batch never waits for a
// large one.  A large batch is stored alone among the large ones, whatever it takes.
// Threads: any number.
class StoreBudget {
 public:
  // `limit_bytes` is the limit of all medium batches together.
  explicit StoreBudget(std::uint64_t limit_bytes);
  StoreBudget(const StoreBudget&) = delete;
  StoreBudget& operator=(const StoreBudget&) = delete;

  // The memory of one batch.  Lifetime: the budget outlives it.
  class Share {
   public:
    Share(StoreBudget& budget, std::size_t lane, std::uint64_t bytes) noexcept
        : budget_(&budget), lane_(lane), bytes_(bytes) {}
    Share(Share&& other) noexcept
        : budget_(std::exchange(other.budget_, nullptr)),
          lane_(other.lane_),
          bytes_(other.bytes_) {}
    Share& operator=(Share&&) = delete;
    Share(const Share&) = delete;
    Share& operator=(const Share&) = delete;
    ~Share();

   private:
    StoreBudget* budget_;
    std::size_t lane_;
    std::uint64_t bytes_;
  };
  // Waits until there is room.  Threads get it in the order in which they came.  A thread that
  // holds a share must not take another one.
  [[nodiscard]] Share take(std::uint64_t bytes);

  // Batches up to this size are stored side by side.
  [[nodiscard]] std::uint64_t batch_bytes() const noexcept { return medium_bytes_ / 2; }

 private:
  struct Lane {
    std::uint64_t limit = 0;
    std::uint64_t used = 0;
    std::uint64_t next_ticket = 0;
    std::uint64_t served = 0;
  };
  static constexpr std::size_t kLanes = 3;

  const std::uint64_t medium_bytes_;
  std::array<Guarded<Lane>, kLanes> lanes_;
};

}  // namespace framefs::fs
