#include "fs/write/overlay/overlay_budget.h"

#include <algorithm>

#include "fs/core/resources/heap.h"

namespace framefs::fs {
namespace {

// Memory for the chunks being stored, two or three for each CPU that encodes them.
constexpr std::uint64_t kMaxKeptBytes = 16u << 20;
constexpr std::uint64_t kKeptShare = 8;
// Smaller memory comes from the heap, see core/resources/heap.
constexpr std::size_t kMinKeptBytes = 64u << 10;
// The share of the limit that is reserved for frames that use little.
constexpr std::uint64_t kReservedShare = 4;
// The share of the limit that indexes may take.  Together with the reserved share, it leaves half
// of the limit to any writer, who may ask for that much at once.
constexpr std::uint64_t kIndexShare = 4;

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
  const auto used = now.used + now.index_bytes;
  if (is_oversized(bytes)) return now.oversized == 0 && used <= limit_ - reserved;
  if (used + bytes <= limit_ - reserved) return true;
  // Each frame that has bytes gets an equal share of the reserved part, and one share stays free
  // for the next frame.
  return used + bytes <= limit_ && own + bytes <= reserved / (now.frames + 1);
}

bool OverlayBudget::is_oversized_index(std::uint64_t bytes) const noexcept {
  return bytes > limit_ / kIndexShare;
}

void OverlayBudget::replace_index(State& now, std::uint64_t before,
                                  std::uint64_t after) const noexcept {
  if (is_oversized_index(before)) {
    --now.oversized_indexes;
  } else {
    now.index_bytes -= before;
  }
  if (is_oversized_index(after)) {
    ++now.oversized_indexes;
  } else {
    now.index_bytes += after;
  }
}

bool OverlayBudget::Index::try_grow(std::uint64_t bytes) {
  if (bytes <= bytes_) return true;
  const bool has_room = budget_->state_.with([&](State& now) {
    auto next = now;
    budget_->replace_index(next, bytes_, bytes);
    if (next.oversized_indexes > std::max<std::uint64_t>(now.oversized_indexes, 1) ||
        next.index_bytes > budget_->limit_ / kIndexShare) {
      return false;
    }
    now = next;
    return true;
  });
  if (has_room) bytes_ = bytes;
  return has_room;
}

void OverlayBudget::Index::set(std::uint64_t bytes) noexcept {
  if (bytes == bytes_) return;
  budget_->state_.with_and_wake([&](State& now) {
    budget_->replace_index(now, bytes_, bytes);
    if (bytes < bytes_) ++now.index_rooms;
  });
  bytes_ = bytes;
}

std::uint64_t OverlayBudget::index_rooms() const {
  return state_.with([](const State& now) { return now.index_rooms; });
}

void OverlayBudget::note_index_room() {
  state_.with_and_wake([](State& now) { ++now.index_rooms; });
}

bool OverlayBudget::wait_for_index_room(std::uint64_t rooms,
                                        std::chrono::steady_clock::time_point end) {
  const auto has_appeared = [&](const State& now) { return now.index_rooms != rooms; };
  state_.with([](State& now) { ++now.waiting; });
  return state_.wait_until(end, has_appeared, [&](State& now) {
    --now.waiting;
    return has_appeared(now);
  });
}

bool OverlayBudget::is_index_room_wanted() const {
  return state_.with([](const State& now) { return now.waiting > 0; });
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
  auto bytes = size < kMinKeptBytes ? std::make_unique_for_overwrite<std::byte[]>(size)
                                    : budget_.kept_.take(size);
  count(size);
  return bytes;
}

void OverlayBudget::Account::give_back(std::unique_ptr<std::byte[]> bytes,
                                       std::size_t size) noexcept {
  if (size >= kMinKeptBytes) {
    budget_.kept_.give_back(std::move(bytes), size);
  } else {
    bytes.reset();
    note_freed_small(size);
  }
  uncount(size);
}

void OverlayBudget::Account::count(std::size_t size) noexcept {
  budget_.state_.with([&](State& now) {
    if (used_ == 0) ++now.frames;
    used_ += size;
    budget_.add(now, size);
  });
}

void OverlayBudget::Account::uncount(std::size_t size) noexcept {
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
