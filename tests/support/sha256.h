#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace framefs::test {

// The SHA-256 of data given piece by piece, so that a test can compare decoded data with a manifest
// without holding all of it.
// Source: FIPS 180-4, sections 4.1.2, 5.1.1, 6.2.
class Sha256 {
 public:
  void update(std::span<const std::byte> bytes);

  // The digest of all data so far, in lower-case hex.  The object must not be used afterwards.
  std::string finish_hex();

 private:
  void compress(std::span<const std::byte, 64> block);

  std::array<std::uint32_t, 8> state_ = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                         0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  std::array<std::byte, 64> pending_{};
  std::size_t pending_bytes_ = 0;
  std::uint64_t total_bytes_ = 0;
};

std::string sha256_hex(std::span<const std::byte> bytes);

}  // namespace framefs::test
