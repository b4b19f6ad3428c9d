#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>

namespace framefs::net {

// What tells one version of one object from all others: a hash of its URL and version.
struct ContentKey {
  std::uint64_t high = 0;
  std::uint64_t low = 0;
  auto operator<=>(const ContentKey&) const = default;
};

struct ContentKeyHash {
  std::size_t operator()(const ContentKey& key) const noexcept { return key.low; }
};

// XXH3, of 128 bits: no two of any number of versions that a mount meets are the same.
ContentKey content_key(std::string_view text);

}  // namespace framefs::net
