#include "fs/tree/names/name_claims.h"

#include <string>
#include <vector>

#include "tests/support/catch.h"

namespace framefs::fs::name_claims_test {

TEST_CASE("name_claims: counts each name by itself", "[fs][names]") {
  constexpr std::size_t kNames = 10'000;
  std::vector<std::string> names;
  for (std::size_t i = 0; i < kNames; ++i) names.push_back("name " + std::to_string(i));
  NameClaims claims(kNames);
  for (std::size_t i = 0; i < kNames; ++i) {
    for (std::size_t k = 0; k <= i % 3; ++k) ++claims.claim(names[i]).entries;
    if (i % 2 == 0) ++claims.claim(names[i]).frames;
  }
  for (std::size_t i = 0; i < kNames; ++i) {
    const auto* const claim = claims.find(names[i]);
    REQUIRE(claim != nullptr);
    CHECK(claim->name == names[i]);
    CHECK(claim->entries == i % 3 + 1);
    CHECK(claim->frames == (i % 2 == 0 ? 1 : 0));
  }
  CHECK(claims.find("name 10000") == nullptr);
  CHECK(claims.find("") == nullptr);
}

TEST_CASE("name_claims: without names there is nothing to find", "[fs][names]") {
  const NameClaims claims(0);
  CHECK(claims.find("x") == nullptr);
}

}  // namespace framefs::fs::name_claims_test
