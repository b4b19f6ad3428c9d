#include "tests/support/stream_samples.h"

#include <bit>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "tests/support/chunk_builder.h"
#include "tests/support/forward_filters.h"

namespace framefs::test {
namespace {

// The distributions of the standard library are implementation-defined; the engine is not.
double unit(std::mt19937& random) { return static_cast<double>(random()) / 4294967296.0; }

Bytes shuffled(const Bytes& items, std::size_t typesize) {
  return filter_forward(Filter::shuffle, items, typesize, {});
}

}  // namespace

Bytes sample_text(std::size_t size, std::uint32_t seed) {
  constexpr std::size_t kWords = 2000;
  constexpr double kFrequentFirst = 3.0;
  std::mt19937 random(seed);
  std::vector<std::string> words(kWords);
  for (auto& word : words) {
    for (auto letters = 2 + random() % 8; letters > 0; --letters) {
      const auto among = 1 + random() % 26;  // the first letters are more frequent
      word += static_cast<char>('a' + random() % among);
    }
  }
  std::string text;
  while (text.size() < size) {
    const auto pick = std::pow(unit(random), kFrequentFirst) * static_cast<double>(kWords);
    text += words[static_cast<std::size_t>(pick)];
    text += random() % 12 == 0 ? ".\n" : " ";
  }
  text.resize(size);
  Bytes out;
  append(out, text);
  return out;
}

Bytes sample_shuffled_floats(std::size_t count, std::uint32_t seed) {
  std::mt19937 random(seed);
  Bytes out;
  for (std::size_t i = 0; i < count; ++i) {
    const auto noise = unit(random) + unit(random) + unit(random) - 1.5;
    const auto reading = 20.0 + 10.0 * std::sin(static_cast<double>(i) * 0.0007) + 0.3 * noise;
    append_le(out, std::bit_cast<std::uint64_t>(std::round(reading * 100.0) / 100.0));
  }
  return shuffled(out, sizeof(double));
}

Bytes sample_shuffled_times(std::size_t count, std::uint32_t seed) {
  std::mt19937 random(seed);
  Bytes out;
  std::uint64_t time = 1'700'000'000'000;
  for (std::size_t i = 0; i < count; ++i) {
    time += random() % 40;
    append_le(out, time);
  }
  return shuffled(out, sizeof time);
}

}  // namespace framefs::test
