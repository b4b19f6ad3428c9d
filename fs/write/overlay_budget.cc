#include "fs/write/overlay_budget.h"

#include <algorithm>

namespace framefs::fs {
namespace {

// Memory for the chunks being stored, two or three for each CPU that encodes them.
constexpr std::uint64_t kMaxKeptBytes = 16u << 20;
constexpr std::uint64_t kKeptShare = 8;
// The share of the limit that is reserved for frames that use little.
constexpr std::uint64_t kReservedShare = 4;

}  // namespace

OverlayBudget::OverlayBudget(std::uint64_t limit_bytes)
    : kept_bytes_(std::min(kMaxKeptBytes, limit_bytes / kKeptShare)),
      limit_(limit_bytes - kept_bytes_),
      kept_(kept_bytes_) {}

std::uint64_t OverlayBudget::used() const {
  return state_.with([](const State& now) { return now.used + now.oversized_bytes; });
}

bool OverlayBudget::has_room(const State& now, std::uint64_t own, std::uint64_t bytes) const {
  if (bytes == 0) return true;
  const auto reserved = limit_ / kReservedShare;
  if (is_oversized(bytes)) return now.oversized == 0 && now.used <= limit_ - reserved;
  if (now.used + bytes <= limit_ - reserved) return true;
  // Each frame that has bytes gets an equal share of the reserved part, and one share stays free
  // for the next frame.
  return now.used + bytes <= limit_ && own + bytes <= reserved / (now.frames + 1);
}

void OverlayBudget::add(State& now, std::uint64_t bytes) const noexcept {
  if (!is_oversized(bytes)) {
    now.used += bytes;
    return;
  }
  ++now.oversized;
  now.oversized_bytes += bytes;
}

void OverlayBudget::remove(State& now, std::uint64_t bytes) const noexcept {
  if (!is_oversized(bytes)) {
    now.used -= bytes;
    return;
  }
  --now.oversized;
  now.oversized_bytes -= bytes;
}

void OverlayBudget::release(std::uint64_t bytes) noexcept {
  state_.with([&](State& now) { remove(now, bytes); });
}

std::unique_ptr<std::byte[]> OverlayBudget::Account::take(std::size_t size) {
  auto bytes = budget_.kept_.take(size);
  budget_.state_.with([&](State& now) {
    if (used_ == 0) ++now.frames;
    used_ += size;
    budget_.add(now, size);
  });
  return bytes;
}

void OverlayBudget::Account::give_back(std::unique_ptr<std::byte[]> bytes,
                                       std::size_t size) noexcept {
  budget_.kept_.give_back(std::move(bytes), size);
  budget_.state_.with([&](State& now) {
    budget_.remove(now, size);
    used_ -= size;
    if (used_ == 0) --now.frames;
  });
}

std::optional<OverlayBudget::Reservation> OverlayBudget::Account::reserve(std::uint64_t bytes) {
  const bool is_reserved = budget_.state_.with([&](State& now) {
    if (!budget_.has_room(now, used_, bytes)) return false;
    budget_.add(now, bytes);
    return true;
  });
  if (!is_reserved) return std::nullopt;
  return Reservation(budget_, bytes);
}

std::uint64_t OverlayBudget::Account::used() const {
  return budget_.state_.with([&](const State&) { return used_; });
}

}  // namespace framefs::fs
