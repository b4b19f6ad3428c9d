#include "fs/remote/listing_age.h"

#include <chrono>

#include "tests/support/catch.h"

namespace framefs::fs::listing_age_test {
namespace {

using Clock = ListingAge::Clock;
using std::chrono::seconds;

// How long a listing is used that took this long, in seconds and rounded down.
long age_after(seconds took, const MountOptions& options) {
  const auto now = Clock::now();
  const auto until = ListingAge(options).fresh_until(now - took);
  return std::chrono::duration_cast<seconds>(until - now).count();
}

TEST_CASE("listing_age: as long as the listing took, from its end, within bounds",
          "[fs][remote][unit]") {
  const MountOptions options;
  CHECK(age_after(seconds(0), options) == 2);
  CHECK(age_after(seconds(15), options) >= 15);
  CHECK(age_after(seconds(15), options) < 30);
  CHECK(age_after(seconds(3000), options) == 60);
}

TEST_CASE("listing_age: options change it", "[fs][remote][unit]") {
  MountOptions options;
  options.remote.list_timeout_ms = 500'000;
  CHECK(age_after(seconds(0), options) == 500);
  CHECK(age_after(seconds(3000), options) == 500);
  options.remote.list_timeout_ms = 0;
  CHECK(age_after(seconds(15), options) == 0);
  options.immutable = true;
  CHECK(ListingAge(options).fresh_until(Clock::now()) == Clock::time_point::max());
}

}  // namespace
}  // namespace framefs::fs::listing_age_test
