#include "codec/chunk/encode_trial.h"

#include <cstdint>
#include <random>
#include <string>

#include "tests/support/catch.h"
#include "tests/support/plain_kinds.h"

namespace framefs::codec::encode_trial_test {
namespace {

using test::Bytes;

TEST_CASE("encode_trial: the trial finds the size of the items", "[codec][encode_trial][unit]") {
  const auto chosen = [](const Bytes& sample, const EncodeHints& hints) {
    const auto params = choose_params_by_trial({}, hints, sample);
    REQUIRE(params);
    return *params;
  };
  Bytes times;
  for (std::int64_t i = 0; i < 30000; ++i) test::append_le(times, 1'700'000'000'000 + 997 * i);
  const auto numbers = chosen(times, {});
  CHECK(numbers.typesize == 8);
  CHECK((numbers.filters[5].id == 1 || numbers.filters[5].id == 2));
  const auto text = chosen(test::sample_text(100000, 1), {});
  CHECK(text.typesize == 1);
  CHECK(text.filters[5].id == 0);
  CHECK(chosen(times, {.typesize = 4, .filter = std::nullopt}).typesize == 4);
  CHECK(chosen(times, {.typesize = std::nullopt, .filter = FilterChoice::shuffle}).typesize == 8);
  CHECK(chosen({}, {}).typesize == 1);
  // A sample that is too small for a trial keeps the simplest choice.
  times.resize(600);
  CHECK(chosen(times, {}).typesize == 1);
  CHECK(chosen(times, {}).filters[5].id == 0);
  const auto shuffled = chosen(times, {.typesize = 8, .filter = FilterChoice::shuffle});
  CHECK(shuffled.typesize == 8);
  CHECK(shuffled.filters[5].id == 1);
}

TEST_CASE("encode_trial: small text is not tried", "[codec][encode_trial][unit]") {
  const auto chosen = [](const Bytes& sample, const EncodeHints& hints = {}) {
    const auto params = choose_params_by_trial({}, hints, sample);
    REQUIRE(params);
    return *params;
  };
  // Text whose trial would find items of eight bytes, and the same with one byte that is no text.
  Bytes numbers;
  for (int i = 0; i < 5000; ++i) {
    for (const char digit : std::to_string(10'000'000 + i * 37)) {
      numbers.push_back(static_cast<std::byte>(digit));
    }
  }
  CHECK(chosen(numbers).filters[5].id == 0);
  CHECK(chosen(numbers).typesize == 1);
  CHECK(chosen(numbers, {.typesize = 8, .filter = std::nullopt}).typesize == 8);
  CHECK(chosen(numbers, {.typesize = std::nullopt, .filter = FilterChoice::shuffle}).typesize == 8);
  auto binary = numbers;
  binary[100] = std::byte{0};
  CHECK(chosen(binary).typesize == 8);
  auto large = numbers;
  test::append(large, numbers);
  CHECK(chosen(large).typesize == 8);
}

TEST_CASE("encode_trial: small noise is not tried", "[codec][encode_trial][unit]") {
  const auto filter_of = [](const Bytes& sample) {
    const auto params = choose_params_by_trial({}, {}, sample);
    REQUIRE(params);
    return params->filters[5].id;
  };
  // Random bytes, except that one bit of each alternates: all values are equally frequent, and only
  // a trial finds the bit.
  std::mt19937 random(1);
  Bytes noise;
  for (int i = 0; i < 4096; ++i) {
    noise.push_back(static_cast<std::byte>((random() & 0x7fU) | (i / 8 % 2 == 0 ? 0x80U : 0U)));
  }
  CHECK(filter_of(noise) == 0);
  // Numbers are no noise, even if all of their bytes have all values: counters that overflow, and
  // values that change slowly.
  Bytes counter;
  Bytes slow;
  for (std::uint32_t i = 0; i < 8192; ++i) {
    test::append_le(counter, static_cast<std::uint16_t>(i * 37));
    test::append_le(slow, static_cast<std::uint16_t>((i * 8) << 3U | (random() & 0x3fU)));
  }
  CHECK(filter_of(counter) != 0);
  CHECK(filter_of(slow) != 0);
  // One byte of eight is always the same.
  auto typed = noise;
  for (std::size_t i = 7; i < typed.size(); i += 8) typed[i] = std::byte{5};
  CHECK(filter_of(typed) != 0);
}

}  // namespace
}  // namespace framefs::codec::encode_trial_test
