#include "fs/tree/names/name_claims.h"

#include <algorithm>
#include <bit>
#include <functional>

namespace framefs::fs {

NameClaims::NameClaims(std::size_t names) : slots_(std::bit_ceil(2 * names + 1)) {
  claims_.reserve(names);
}

std::uint32_t NameClaims::hash_of(std::string_view name) {
  return static_cast<std::uint32_t>(std::hash<std::string_view>{}(name));
}

std::size_t NameClaims::slot_of(std::string_view name, std::uint32_t hash) const {
  auto at = hash & (slots_.size() - 1);
  for (; slots_[at].claim != kNone; at = (at + 1) & (slots_.size() - 1)) {
    if (slots_[at].hash == hash && claims_[slots_[at].claim].name == name) break;
  }
  return at;
}

NameClaims::Claim& NameClaims::claim(std::string_view name) {
  const auto hash = hash_of(name);
  auto& slot = slots_[slot_of(name, hash)];
  if (slot.claim == kNone) {
    slot = {.hash = hash, .claim = static_cast<std::uint32_t>(claims_.size())};
    claims_.push_back({.name = name});
  }
  return claims_[slot.claim];
}

const NameClaims::Claim* NameClaims::find(std::string_view name) const {
  const auto& slot = slots_[slot_of(name, hash_of(name))];
  return slot.claim == kNone ? nullptr : &claims_[slot.claim];
}

NameClaims::Claim* NameClaims::find(std::string_view name) {
  const auto& slot = slots_[slot_of(name, hash_of(name))];
  return slot.claim == kNone ? nullptr : &claims_[slot.claim];
}

}  // namespace framefs::fs
