#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace framefs::test {

// A 64-bit hash as fast as memory, to distinguish the states of files.  Not cryptographic.
class FastHash {
 public:
  void add(std::span<const std::byte> bytes) {
    while (bytes.size() >= sizeof(lanes_)) {
      for (auto& lane : lanes_) {
        mix(lane, word(bytes.first(8)));
        bytes = bytes.subspan(8);
      }
    }
    for (; !bytes.empty(); bytes = bytes.subspan(std::min<std::size_t>(8, bytes.size()))) {
      mix(lanes_[0], word(bytes.first(std::min<std::size_t>(8, bytes.size()))));
      mix(lanes_[1], bytes.size());
    }
  }
  void add(std::uint64_t number) { mix(lanes_[2], number); }

  [[nodiscard]] std::uint64_t value() const {
    std::uint64_t all = 0;
    for (const auto lane : lanes_) mix(all, lane);
    return all;
  }

 private:
  static std::uint64_t word(std::span<const std::byte> bytes) {
    std::uint64_t value = 0;
    std::memcpy(&value, bytes.data(), bytes.size());
    return value;
  }
  static void mix(std::uint64_t& lane, std::uint64_t value) {
    // The multipliers are odd, so that the multiplication loses no information.
    lane = std::rotl(lane ^ (value * 0x9e37'79b9'7f4a'7c15), 29) * 0xd6e8'feb8'6659'fd93 + 1;
  }

  std::uint64_t lanes_[4] = {1, 2, 3, 4};
};

inline std::uint64_t fast_hash(std::span<const std::byte> bytes) {
  FastHash hash;
  hash.add(bytes);
  hash.add(bytes.size());
  return hash.value();
}

}  // namespace framefs::test
