#include "codec/filter/bytedelta.h"

#include "codec/filter/kernels.h"
#include "tests/support/catch.h"
#include "tests/unit/codec/filter_checks.h"

namespace framefs::codec::bytedelta_test {
namespace {

using test::Bytes;

Bytes undone(std::size_t width, Bytes block, BytedeltaSum sum) {
  unbytedelta(width, block, sum);
  return block;
}

// Oracle: each byte is computed on its own, as a sum from the start.
Bytes by_rule(std::size_t width, const Bytes& block, BytedeltaSum sum) {
  Bytes out = block;
  const std::size_t n = block.size() / width;
  for (std::size_t x = 0; x < n * width; ++x) {
    const std::size_t place = x % n;
    const std::size_t vectors = 16 * (n / 16);
    const bool anew = sum == BytedeltaSum::anew_after_vectors && place >= vectors;
    unsigned total = 0;
    for (std::size_t y = x - place + (anew ? vectors : 0); y <= x; ++y) {
      total += std::to_integer<unsigned>(block[y]);
    }
    out[x] = static_cast<std::byte>(total);
  }
  return out;
}

TEST_CASE("bytedelta: each stream is summed from 0 and the odd bytes stay",
          "[codec][bytedelta][unit]") {
  CHECK(undone(2, bytes_of({1, 1, 1, 250, 10, 1, 9}), BytedeltaSum::whole_stream) ==
        bytes_of({1, 2, 3, 250, 4, 5, 9}));
  CHECK(undone(1, bytes_of({255, 255, 2}), BytedeltaSum::whole_stream) == bytes_of({255, 254, 0}));
}

TEST_CASE("bytedelta: nothing happens when the width exceeds the block",
          "[codec][bytedelta][unit]") {
  for (const auto sum : {BytedeltaSum::whole_stream, BytedeltaSum::anew_after_vectors}) {
    CHECK(undone(4, bytes_of({1, 2, 3}), sum) == bytes_of({1, 2, 3}));
    CHECK(undone(100000, bytes_of({1, 2, 3}), sum) == bytes_of({1, 2, 3}));
    CHECK(undone(4, Bytes{}, sum).empty());
  }
}

// Eighteen bytes per stream: a vector of sixteen, then two bytes for which filter 34 restarts the
// sum.
TEST_CASE("bytedelta: the older filter restarts after the last whole vector",
          "[codec][bytedelta][unit]") {
  const Bytes ones(36, std::byte{1});
  const auto whole = undone(2, ones, BytedeltaSum::whole_stream);
  const auto anew = undone(2, ones, BytedeltaSum::anew_after_vectors);
  for (const std::size_t start : Sizes{0, 18}) {
    CHECK(anew[start + 15] == std::byte{16});
    CHECK(anew[start + 16] == std::byte{1});
    CHECK(anew[start + 17] == std::byte{2});
    CHECK(whole[start + 15] == std::byte{16});
    CHECK(whole[start + 16] == std::byte{17});
    CHECK(whole[start + 17] == std::byte{18});
  }
}

TEST_CASE("bytedelta: blocks of any length follow the rules", "[codec][bytedelta][unit]") {
  for (const std::size_t width : widths_to_try()) {
    for (std::size_t size = 0; size <= 150; ++size) {
      const auto block = test::noise(size, static_cast<std::uint32_t>(size));
      for (const auto sum : {BytedeltaSum::whole_stream, BytedeltaSum::anew_after_vectors}) {
        const auto at = first_difference(undone(width, block, sum), by_rule(width, block, sum));
        if (at) FAIL("width " << width << ", " << size << " bytes, byte " << *at);
      }
    }
  }
  SUCCEED("all agreed");
}

// Oracle: a sum, byte by byte.
TEST_CASE("bytedelta: every kernel sums streams of any length and touches no other byte",
          "[codec][bytedelta][unit]") {
  for (const auto& kernels : usable_kernels()) {
    for (std::size_t size = 0; size <= 300; ++size) {
      auto stream = test::noise(size + 1, static_cast<std::uint32_t>(size));
      auto wanted = stream;
      unsigned total = 0;
      for (std::size_t i = 0; i < size; ++i) {
        total += std::to_integer<unsigned>(stream[i]);
        wanted[i] = static_cast<std::byte>(total);
      }
      kernels.prefix_sum(stream.data(), size);
      const auto at = first_difference(stream, wanted);
      if (at) FAIL(kernels.name << ", " << size << " bytes, byte " << *at);
    }
  }
  SUCCEED("all agreed");
}

}  // namespace
}  // namespace framefs::codec::bytedelta_test
