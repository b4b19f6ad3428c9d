#include "fs/write/kept_ctimes.h"

namespace framefs::fs {
namespace {

std::uint64_t hash_of_state(const FileIdentity& identity) noexcept {
  std::uint64_t hash = 0;
  const auto mix = [&](std::uint64_t word) {
    hash = (hash ^ word) * 0x9e3779b97f4a7c15ULL;
    hash ^= hash >> 32U;
  };
  mix(identity.device);
  mix(identity.inode);
  mix(static_cast<std::uint64_t>(identity.size));
  mix(static_cast<std::uint64_t>(identity.mtime_ns));
  mix(static_cast<std::uint64_t>(identity.ctime_ns));
  return hash;
}

}  // namespace

void KeptCtimes::keep(const FileIdentity& identity, const timespec& ctime) {
  const auto hash = hash_of_state(identity);
  state_.with([&](State& state) {
    if (!state.by_hash.insert_or_assign(hash, ctime).second) return;
    state.order.push_back(hash);
    if (state.order.size() <= max_files_) return;
    state.by_hash.erase(state.order.front());
    state.order.pop_front();
  });
}

std::optional<timespec> KeptCtimes::find(const FileIdentity& identity) const {
  const auto hash = hash_of_state(identity);
  return state_.with([&](const State& state) -> std::optional<timespec> {
    const auto at = state.by_hash.find(hash);
    return at == state.by_hash.end() ? std::nullopt : std::optional(at->second);
  });
}

}  // namespace framefs::fs
