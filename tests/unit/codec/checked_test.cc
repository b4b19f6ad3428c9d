#include "codec/core/checked.h"

#include <cstdint>

#include "tests/support/catch.h"

namespace framefs::codec::checked_test {
namespace {

// Oracle: the same sums in a wider type, for every pair of bytes.
TEST_CASE("checked: sums, products and quotients of all bytes agree with wide arithmetic",
          "[codec][checked][unit]") {
  bool sums = true;
  bool products = true;
  bool quotients = true;
  for (unsigned a = 0; a < 256; ++a) {
    for (unsigned b = 0; b < 256; ++b) {
      const auto x = static_cast<std::uint8_t>(a);
      const auto y = static_cast<std::uint8_t>(b);
      const auto expect = [](unsigned wide) {
        return wide < 256 ? std::optional(static_cast<std::uint8_t>(wide)) : std::nullopt;
      };
      sums = sums && checked_add(x, y) == expect(a + b);
      products = products && checked_mul(x, y) == expect(a * b);
      if (b > 0) quotients = quotients && div_ceil(x, y) == (a + b - 1) / b;
    }
  }
  CHECK(sums);
  CHECK(products);
  CHECK(quotients);
}

TEST_CASE("checked: the ends of 64 bits are exact", "[codec][checked][unit]") {
  constexpr auto kMax = std::numeric_limits<std::uint64_t>::max();
  constexpr std::uint64_t kTwoTo32 = std::uint64_t{1} << 32;
  STATIC_REQUIRE(checked_add<std::uint64_t>(kMax, 0) == kMax);
  STATIC_REQUIRE(checked_add<std::uint64_t>(kMax - 5, 5) == kMax);
  STATIC_REQUIRE_FALSE(checked_add<std::uint64_t>(kMax - 5, 6).has_value());
  STATIC_REQUIRE_FALSE(checked_add<std::uint64_t>(kMax, kMax).has_value());
  STATIC_REQUIRE(checked_mul<std::uint64_t>(kMax, 1) == kMax);
  STATIC_REQUIRE(checked_mul<std::uint64_t>(kMax, 0) == 0);
  STATIC_REQUIRE(checked_mul<std::uint64_t>(kTwoTo32, kTwoTo32 - 1) == kMax - kTwoTo32 + 1);
  STATIC_REQUIRE_FALSE(checked_mul<std::uint64_t>(kTwoTo32, kTwoTo32).has_value());
  // The usual formula (a + b - 1) / b would overflow.
  STATIC_REQUIRE(div_ceil<std::uint64_t>(kMax, 2) == kMax / 2 + 1);
  STATIC_REQUIRE(div_ceil<std::uint64_t>(kMax, kMax) == 1);
  STATIC_REQUIRE(div_ceil<std::uint64_t>(0, 7) == 0);
}

}  // namespace
}  // namespace framefs::codec::checked_test
