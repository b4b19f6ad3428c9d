#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <span>

#include "codec/core/result.h"
#include "tests/support/bytes.h"
#include "tests/support/catch.h"
#include "tests/support/outcome.h"

namespace framefs::codec {

// Checks for every decoder of a single stream.  `decode` is the decoder under test: it must consume
// `in` and fill `out` exactly.
using Decode = std::function<Status(std::span<const std::byte> in, std::span<std::byte> out)>;

// Decodes into `size` bytes with exact buffers, so that the address sanitizer detects the first
// byte beyond them.
inline Result<test::Bytes> decode_alone(const Decode& decode, std::span<const std::byte> stream,
                                        std::size_t size) {
  const test::Bytes in(stream.begin(), stream.end());
  test::Bytes out(size, std::byte{0x55});
  FRAMEFS_CHECK(decode(in, out));
  return out;
}

// Decodes in the middle of a buffer full of `old`, and checks that nothing outside is written.
inline Result<test::Bytes> decode_over(const Decode& decode, std::span<const std::byte> stream,
                                       std::size_t size, std::byte old) {
  constexpr std::size_t kGuard = 80;
  test::Bytes room(kGuard + size + kGuard, old);
  const auto out = std::span(room).subspan(kGuard, size);
  const auto status = decode(stream, out);
  const auto is_old = [old](std::byte b) { return b == old; };
  REQUIRE(std::ranges::all_of(std::span(room).first(kGuard), is_old));
  REQUIRE(std::ranges::all_of(std::span(room).last(kGuard), is_old));
  if (!status) return std::unexpected(status.error());
  return test::Bytes(out.begin(), out.end());
}

// Decodes twice, over different old contents, and checks that the results are equal.  They would
// differ if the decoder left bytes unwritten, or copied unwritten bytes: old memory would leak.
inline Result<test::Bytes> decode_guarded(const Decode& decode, std::span<const std::byte> stream,
                                          std::size_t size) {
  auto once = decode_over(decode, stream, size, std::byte{0x55});
  const auto again = decode_over(decode, stream, size, std::byte{0xaa});
  REQUIRE(once.has_value() == again.has_value());
  if (once) REQUIRE(*once == *again);
  return once;
}

// Oracle: an output of another size than the declared one is refused.
inline void check_other_sizes_refused(const Decode& decode, std::span<const std::byte> stream,
                                      std::size_t size) {
  for (const std::size_t wrong : {size + 1, size - 1, size + 33, size / 2, 2 * size}) {
    if (wrong == size) continue;
    INFO("room for " << wrong << " bytes instead of " << size);
    const auto decoded = decode_alone(decode, stream, wrong);
    REQUIRE_FALSE(decoded);
    REQUIRE(decoded.error().kind != Errc::internal);
  }
}

inline void check_prefixes_refused(const Decode& decode, std::span<const std::byte> stream,
                                   std::size_t size) {
  for (std::size_t n = 0; n < stream.size(); ++n) {
    INFO("prefix of " << n << " bytes of " << stream.size());
    const auto decoded = decode_alone(decode, stream.first(n), size);
    REQUIRE_FALSE(decoded);
    REQUIRE(decoded.error().kind != Errc::internal);
    REQUIRE(decoded.error().at <= n);
  }
}

// Oracle: an error, or bytes that depend only on the stream; nothing outside the output is written.
inline void check_bit_flips(const Decode& decode, std::span<const std::byte> stream,
                            std::size_t size) {
  test::Bytes bad(stream.begin(), stream.end());
  for (std::size_t bit = 0; bit < 8 * bad.size(); ++bit) {
    const auto mask = static_cast<std::byte>(1U << (bit % 8));
    bad[bit / 8] ^= mask;
    INFO("bit " << bit % 8 << " of byte " << bit / 8);
    const auto decoded = decode_guarded(decode, bad, size);
    if (!decoded) REQUIRE(decoded.error().kind != Errc::internal);
    bad[bit / 8] ^= mask;
  }
}

}  // namespace framefs::codec
