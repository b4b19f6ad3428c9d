#include "codec/array/array_shapes.h"

#include <cstdint>
#include <vector>

#include "tests/support/catch.h"

namespace framefs::codec::array_shapes_test {
namespace {

TEST_CASE("array_shapes: chunks and blocks keep their bounds", "[codec][array_shapes][unit]") {
  using Shape = std::vector<std::uint64_t>;
  for (const auto& shape : {Shape{1}, Shape{1'000'000}, Shape{1000, 1000}, Shape{3, 5, 7, 11},
                            Shape{1u << 30, 3}, Shape{2, 1u << 30}, Shape{17, 1, 1, 40'000}}) {
    for (const std::uint32_t typesize : {1U, 8U, 1000U}) {
      CAPTURE(shape, typesize);
      const auto shapes = choose_array_shapes(shape, typesize, 1u << 20, 1u << 14);
      std::uint64_t chunk = typesize;
      std::uint64_t block = typesize;
      for (std::size_t i = 0; i < shape.size(); ++i) {
        REQUIRE(shapes.block[i] >= 1);
        REQUIRE(shapes.block[i] <= shapes.chunk[i]);
        CHECK(static_cast<std::uint64_t>(shapes.chunk[i]) <= shape[i]);
        const auto blocks = (shapes.chunk[i] + shapes.block[i] - 1) / shapes.block[i];
        chunk *= static_cast<std::uint64_t>(blocks * shapes.block[i]);
        block *= static_cast<std::uint64_t>(shapes.block[i]);
      }
      CHECK(block <= 1u << 14);
      CHECK(chunk <= 2u << 20);  // whole blocks at the array's edge
    }
  }
}

}  // namespace
}  // namespace framefs::codec::array_shapes_test
