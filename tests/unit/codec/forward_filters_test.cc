#include "tests/support/forward_filters.h"

#include <random>

#include "codec/filter/bitshuffle_impl.h"
#include "codec/filter/bytedelta.h"
#include "codec/filter/clear_bits.h"
#include "codec/filter/kernels.h"
#include "codec/filter/shuffle.h"
#include "tests/support/catch.h"
#include "tests/support/outcome.h"
#include "tests/support/random_seed.h"
#include "tests/unit/codec/filter_checks.h"

namespace framefs::codec::forward_filters_test {
namespace {

using test::Bytes;
using test::Filter;
using test::outcome;

// Oracle of this file: the filters of tests/support, which work bit by bit and byte by byte.
Bytes expected(Filter filter, std::size_t typesize, const Bytes& in) {
  return test::filter_forward(filter, in, typesize, {});
}

// A buffer that ends where its allocation ends, so that a sanitizer detects every read beyond it.
Bytes exact(std::span<const std::byte> bytes) { return {bytes.begin(), bytes.end()}; }

TEST_CASE("shuffle: every implementation deals elements to planes when counts straddle its tiles",
          "[codec][shuffle][unit]") {
  for (const std::size_t width : widths_to_try()) {
    for (const std::size_t count :
         Sizes{1, 2, 31, 32, 33, 34, 35, 63, 64, 65, 66, 67, 96, 255, 256, 257, 300, 513}) {
      const auto in = test::noise(width * count, static_cast<std::uint32_t>(width * 1000 + count));
      const auto right = expected(Filter::shuffle, width, in);
      for (const auto& kernels : usable_kernels()) {
        Bytes out(in.size(), std::byte{0xee});
        kernels.shuffle(width, in.data(), width, {out.data(), count, count});
        if (const auto at = first_difference(out, right)) {
          FAIL(kernels.name << ", width " << width << ", " << count << " elements, byte " << *at);
        }
      }
    }
  }
  SUCCEED("all agreed");
}

TEST_CASE("shuffle: every implementation deals from wide rows to planes that lie apart",
          "[codec][shuffle][unit]") {
  constexpr std::size_t kStride = 307;
  constexpr std::size_t kGap = 5;
  constexpr std::byte kOld{0xee};
  for (const std::size_t width : Sizes{32, 33, 40, 64, 100}) {
    for (const std::size_t count : Sizes{1, 31, 32, 66, 257}) {
      const auto rows = test::noise((count - 1) * (width + kGap) + width, 5);
      Bytes right(width * kStride, kOld);
      for (std::size_t i = 0; i < count; ++i) {
        for (std::size_t j = 0; j < width; ++j) {
          right[j * kStride + i] = rows[i * (width + kGap) + j];
        }
      }
      for (const auto& kernels : usable_kernels()) {
        Bytes out(right.size(), kOld);
        kernels.shuffle(width, rows.data(), width + kGap, {out.data(), kStride, count});
        const auto at = first_difference(out, right);
        if (at) FAIL(kernels.name << ", width " << width << ", " << count << ", byte " << *at);
      }
    }
  }
  SUCCEED("all agreed");
}

TEST_CASE("shuffle: unshuffle reverses it for a block of any length", "[codec][shuffle][unit]") {
  for (const std::size_t width : widths_to_try()) {
    for (std::size_t size = 0; size <= 5 * width + 70; ++size) {
      const auto in = test::noise(size, static_cast<std::uint32_t>(size));
      Bytes out(size);
      shuffle(width, in, out);
      if (first_difference(out, expected(Filter::shuffle, width, in))) {
        FAIL("width " << width << ", " << size << " bytes");
      }
    }
  }
  SUCCEED("all agreed");
}

TEST_CASE("bitshuffle: every implementation splits elements into bit rows at every length",
          "[codec][bitshuffle][unit]") {
  for (const std::size_t typesize : widths_to_try()) {
    for (const std::size_t items : Sizes{0, 1, 7, 8, 9, 31, 32, 40, 255, 256, 264, 523, 1031}) {
      for (const std::size_t more : {std::size_t{0}, typesize - 1}) {
        const auto in = exact(test::noise(items * typesize + more, 3));
        const auto right = expected(Filter::bitshuffle, typesize, in);
        for (const auto& kernels : usable_kernels()) {
          Bytes out(in.size(), std::byte{0xee});
          bitshuffle_with(kernels, typesize, in, out);
          const auto at = first_difference(out, right);
          if (at) FAIL(kernels.name << ", " << typesize << ", " << items << ", byte " << *at);
        }
      }
    }
  }
  SUCCEED("all agreed");
}

TEST_CASE("bitshuffle: blocks of several runs are split rightly", "[codec][bitshuffle][unit]") {
  for (const std::size_t typesize : Sizes{1, 2, 3, 4, 7, 8, 12, 16, 24, 32, 48}) {
    for (const std::size_t size : Sizes{32768, 40000, 65535}) {
      const auto in = test::noise(size, 4);
      Bytes out(size);
      bitshuffle(typesize, in, out);
      CHECK_FALSE(first_difference(out, expected(Filter::bitshuffle, typesize, in)));
    }
  }
}

TEST_CASE("bytedelta: each byte becomes its difference at every length",
          "[codec][bytedelta][unit]") {
  for (const std::size_t width : Sizes{1, 2, 3, 4, 8, 16, 255}) {
    for (std::size_t size = 0; size < 3 * width + 40; ++size) {
      const auto in = test::noise(size, 5);
      auto out = in;
      bytedelta(width, out);
      const auto right = size < width ? in : expected(Filter::bytedelta, width, in);
      if (first_difference(out, right)) FAIL("width " << width << ", " << size << " bytes");
    }
  }
  SUCCEED("all agreed");
}

// Oracle: each item as a number, rounded by division.
TEST_CASE("clear_bits: the low bits of every item are cleared, odd bytes at the end stay",
          "[codec][clear_bits][unit]") {
  for (const std::uint32_t typesize : {1U, 2U, 4U, 8U}) {
    for (unsigned bits = 0; bits <= 8 * typesize; ++bits) {
      for (const std::size_t size : Sizes{0, 1, 7, 8, 9, 24, 31, 33}) {
        const auto in = test::noise(size, bits);
        Bytes right = in;
        for (std::size_t item = 0; item < size / typesize; ++item) {
          for (unsigned bit = 0; bit < bits; ++bit) {
            right[item * typesize + bit / 8] &= ~(std::byte{1} << (bit % 8));
          }
        }
        auto out = in;
        clear_low_bits(typesize, bits, out);
        if (first_difference(out, right)) FAIL(typesize << ", " << bits << ", " << size);
      }
    }
  }
  SUCCEED("all agreed");
}

TEST_CASE("clear_bits: parameters count bits to keep, or below zero to clear",
          "[codec][clear_bits][unit]") {
  CHECK(trunc_prec_bits(4, 10).value() == 13);
  CHECK(trunc_prec_bits(4, 23).value() == 0);
  CHECK(trunc_prec_bits(4, 0).value() == 23);
  CHECK(trunc_prec_bits(4, -5).value() == 5);
  CHECK(trunc_prec_bits(8, 20).value() == 32);
  CHECK(int_trunc_bits(2, 10).value() == 6);
  CHECK(int_trunc_bits(8, -64).value() == 64);
  CHECK(outcome(trunc_prec_bits(4, 24)) == "bad field: filter parameter at 0");
  CHECK(outcome(trunc_prec_bits(4, -24)) == "bad field: filter parameter at 0");
  CHECK(outcome(trunc_prec_bits(2, 3)) == "bad field: typesize for trunc_prec at 0");
  CHECK(outcome(int_trunc_bits(1, 9)) == "bad field: filter parameter at 0");
  CHECK(outcome(int_trunc_bits(1, -9)) == "bad field: filter parameter at 0");
  CHECK(outcome(int_trunc_bits(3, 1)) == "bad field: typesize for int_trunc at 0");
}

}  // namespace
}  // namespace framefs::codec::forward_filters_test
