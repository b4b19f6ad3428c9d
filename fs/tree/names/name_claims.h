#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace framefs::fs {

// How many entries of a folder have or want each of the names that one of them could get.  A table
// of 24 bytes a name besides 16 that it looks at to find one: folders have hundreds of thousands.
// Threads: any number that call find(); claim() by one.
class NameClaims {
 public:
  struct Claim {
    std::string_view name;
    std::uint32_t entries = 0;
    std::uint32_t frames = 0;  // those that want to be frames of bytes
  };

  // For at most this number of names.
  explicit NameClaims(std::size_t names);

  // The claim to a name.  Lifetime: the name outlives this object.
  Claim& claim(std::string_view name);
  // Null if nobody claimed it.
  [[nodiscard]] Claim* find(std::string_view name);
  [[nodiscard]] const Claim* find(std::string_view name) const;

 private:
  struct Slot {
    std::uint32_t hash = 0;
    std::uint32_t claim = kNone;  // its index
  };
  static constexpr std::uint32_t kNone = UINT32_MAX;

  // The slot that has the name, or would have it.
  [[nodiscard]] std::size_t slot_of(std::string_view name, std::uint32_t hash) const;
  static std::uint32_t hash_of(std::string_view name);

  std::vector<Claim> claims_;
  std::vector<Slot> slots_;  // a power of two, at least twice as many as claims
};

}  // namespace framefs::fs
