#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>

namespace framefs::net {

// The identity of one version of one object: a hash of its URL and version.
struct ContentKey {
  std::uint64_t high = 0;
  std::uint64_t low = 0;
  auto operator<=>(const ContentKey&) const = default;
};

struct ContentKeyHash {
  std::size_t operator()(const ContentKey& key) const noexcept { return key.low; }
};

// The XXH3 hash of 128 bits.  A mount never meets enough versions for two equal hashes.
ContentKey content_key(std::string_view text);

}  // namespace framefs::net
