#include "fs/tree/records/told_state.h"

namespace framefs::fs {
namespace {

// The time at which the attributes changed does not matter to the bytes.
std::uint64_t hash_of_state(const FileIdentity& identity) noexcept {
  const auto size = static_cast<std::uint64_t>(identity.size);
  const auto mtime = static_cast<std::uint64_t>(identity.mtime_ns);
  return identity.device * 0x9e3779b97f4a7c15ULL + identity.inode * 0xc2b2ae3d27d4eb4fULL +
         size * 0x165667b19e3779f9ULL + mtime * 0x27d4eb2f165667c5ULL;
}

}  // namespace

void ToldState::set(const FileIdentity& identity) noexcept {
  state_.store((hash_of_state(identity) & ~kIsWrong) | kIsKnown, std::memory_order_relaxed);
}

void ToldState::reset() noexcept { state_.store(0, std::memory_order_relaxed); }

void ToldState::reset_if_wrong() noexcept {
  if ((state_.load(std::memory_order_relaxed) & kIsWrong) != 0) reset();
}

bool ToldState::is(const FileIdentity& identity) noexcept {
  const auto wanted = (hash_of_state(identity) & ~kIsWrong) | kIsKnown;
  auto known = state_.load(std::memory_order_relaxed);
  while ((known & kIsKnown) == 0) {
    const auto now = wanted | (known & kIsWrong);
    if (state_.compare_exchange_weak(known, now, std::memory_order_relaxed)) return true;
  }
  return (known & ~kIsWrong) == wanted;
}

}  // namespace framefs::fs
