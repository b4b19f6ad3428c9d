#include "codec/array/array_meta_writer.h"

#include <array>

#include "tests/support/catch.h"
#include "tests/support/outcome.h"
#include "tests/unit/codec/filter_checks.h"

namespace framefs::codec::array_meta_writer_test {
namespace {

using test::Bytes;
using test::outcome;

// Oracle: the bytes according to the format's description.
TEST_CASE("array_meta_writer: the content is byte for byte that of the format",
          "[codec][array_meta_writer][unit]") {
  const auto content = encode_b2nd_metalayer(std::array<std::int64_t, 2>{300, 7},
                                             std::array<std::int32_t, 2>{100, 7},
                                             std::array<std::int32_t, 2>{16, 3}, "<f8");
  REQUIRE(content);
  CHECK(*content == bytes_of({0x97, 0,    2,                                   //
                              0x92, 0xd3, 0, 0, 0, 0,   0,    0,   1,  44,     // 300
                              0xd3, 0,    0, 0, 0, 0,   0,    0,   7,          //
                              0x92, 0xd2, 0, 0, 0, 100, 0xd2, 0,   0,  0,  7,  //
                              0x92, 0xd2, 0, 0, 0, 16,  0xd2, 0,   0,  0,  3,  //
                              0,    0xdb, 0, 0, 0, 3,   '<',  'f', '8'}));
  const auto scalar = encode_b2nd_metalayer({}, {}, {}, "|u1");
  REQUIRE(scalar);
  CHECK(*scalar == bytes_of({0x97, 0, 0, 0x90, 0x90, 0x90, 0, 0xdb, 0, 0, 0, 3, '|', 'u', '1'}));
}

TEST_CASE("array_meta_writer: extents that make no array are refused",
          "[codec][array_meta_writer][corrupt]") {
  using Shape = std::vector<std::int64_t>;
  using Part = std::vector<std::int32_t>;
  const auto made = [](const Shape& shape, const Part& chunk, const Part& block) {
    return outcome(encode_b2nd_metalayer(shape, chunk, block, "<f8"));
  };
  CHECK(made({4}, {4}, {4}) == "ok");
  CHECK(made({0}, {0}, {0}) == "ok");
  CHECK(made({4}, {4, 4}, {4}) == "bad field: ndim at 2");
  CHECK(made(Shape(17, 1), Part(17, 1), Part(17, 1)) == "bad field: ndim at 2");
  CHECK(made({-1}, {4}, {4}) == "bad field: shape at 3");
  CHECK(made({4}, {0}, {0}) == "bad field: shape at 3");
  CHECK(made({4}, {4}, {5}) == "bad field: shape at 3");
  CHECK(outcome(encode_b2nd_metalayer({}, {}, {}, "")) == "bad field: dtype at 3");
}

}  // namespace
}  // namespace framefs::codec::array_meta_writer_test
