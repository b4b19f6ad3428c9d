#include "fs/write/commit/store_budget.h"

namespace framefs::fs {
namespace {

constexpr std::uint64_t kSmallBatchBytes = 4u << 20;
constexpr std::uint64_t kSmallLimit = 8u << 20;

}  // namespace

StoreBudget::StoreBudget(std::uint64_t limit_bytes) : medium_bytes_(limit_bytes) {
  lanes_[0].with([](Lane& small) { small.limit = kSmallLimit; });
  lanes_[1].with([&](Lane& medium) { medium.limit = limit_bytes; });
}

StoreBudget::Share StoreBudget::take(std::uint64_t bytes) {
  std::size_t lane = 2;
  if (bytes <= kSmallBatchBytes) {
    lane = 0;
  } else if (bytes <= medium_bytes_) {
    lane = 1;
  }
  const auto ticket = lanes_[lane].with([](Lane& now) { return now.next_ticket++; });
  lanes_[lane].wait(
      [&](const Lane& now) {
        return now.served == ticket && (now.used == 0 || now.used + bytes <= now.limit);
      },
      [&](Lane& now) {
        ++now.served;
        now.used += bytes;
      });
  lanes_[lane].wake();
  return {*this, lane, bytes};
}

StoreBudget::Share::~Share() {
  if (budget_ == nullptr) return;
  budget_->lanes_[lane_].with_and_wake([this](Lane& now) { now.used -= bytes_; });
}

}  // namespace framefs::fs
