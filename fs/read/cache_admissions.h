#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <list>
#include <optional>
#include <utility>

#include "fs/core/threads/guarded.h"

namespace framefs::fs {

class Admissions;

// The right to use some bytes of the cache's budget at once.  It ends when the object is destroyed.
class Admission {
 public:
  Admission() = default;
  Admission(Admission&& other) noexcept
      : admissions_(std::exchange(other.admissions_, nullptr)),
        bytes_(other.bytes_),
        share_(other.share_) {}
  Admission& operator=(Admission&& other) noexcept;
  Admission(const Admission&) = delete;
  Admission& operator=(const Admission&) = delete;
  ~Admission();

 private:
  friend class Admissions;
  enum class Share : std::uint8_t { budget, reserve };
  Admission(Admissions& admissions, std::uint64_t bytes, Share share)
      : admissions_(&admissions), bytes_(bytes), share_(share) {}
  Admissions* admissions_ = nullptr;
  std::uint64_t bytes_ = 0;
  Share share_ = Share::budget;
};

// Readers of blocks give an estimate of the bytes that they will use at once, and wait while others
// use up the budget.  The cache never evicts values in use; hence these alone do not exceed it.
// Threads: any number.
class Admissions {
 public:
  explicit Admissions(std::uint64_t budget_bytes)
      : budget_(budget_bytes),
        small_reserve_(std::min(budget_bytes / kReserveShare, kMaxSmallReserve)) {}

  // Waits in turn for an Admission.  A request larger than the whole budget is admitted when no
  // other request holds an Admission.  Small requests do not wait for large ones: they have a
  // reserve beside the budget.
  // Returns an empty Admission if the thread's request is cancelled meanwhile: all that it decodes
  // will fail.
  // A value released before the Admission no longer counts; a value held longer than the Admission
  // exceeds the budget.  A thread that waits here must hold neither a ticket of the cache nor an
  // Admission.
  Admission admit(std::uint64_t bytes);
  // The same without waiting, for blocks decoded ahead.  Succeeds only while admitted requests
  // leave half of the budget to others.
  std::optional<Admission> try_admit(std::uint64_t bytes);

  // The number of large requests that wait for admission now.
  [[nodiscard]] std::size_t waiting_large() const;

 private:
  friend class Admission;
  // Small requests have a reserve beside the budget: a share of the budget, up to this size.  A
  // request is small if it needs at most a share of the reserve.
  static constexpr std::uint64_t kMaxSmallReserve = 16u << 20;
  static constexpr std::uint64_t kReserveShare = 8;  // of the budget
  static constexpr std::uint64_t kSmallShare = 4;    // of the reserve

  struct Admitted {
    struct Waiting {};
    [[nodiscard]] bool has_room(std::uint64_t bytes, std::uint64_t budget) const noexcept;
    std::uint64_t sum = 0;
    std::uint64_t reserve_sum = 0;
    std::list<Waiting> queue;  // large requests, in the order in which they came
  };
  Admission admit_small(std::uint64_t bytes);
  Admission admit_large(std::uint64_t bytes);
  template <class Ready, class Take>
  Admission wait_admitted(const Ready& ready, const Take& take);

  const std::uint64_t budget_;
  const std::uint64_t small_reserve_;
  Guarded<Admitted> admitted_;
};

}  // namespace framefs::fs
