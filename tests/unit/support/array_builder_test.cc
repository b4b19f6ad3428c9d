#include "tests/support/array_builder.h"

#include <string>
#include <vector>

#include "tests/support/catch.h"
#include "tests/support/sample_data.h"

namespace framefs::test::array_builder_test {
namespace {

std::string letters(const Bytes& bytes) {
  std::string out;
  for (const std::byte b : bytes) out += std::to_integer<char>(b);
  return out;
}

// Oracle: laid out by hand.  The array, its chunks of (2, 3) and their blocks of (2, 2):
//   a b c | d e         a b | c .
//   f g h | i j         f g | h .
//   k l m | n o
TEST_CASE("array_builder: items lie where the format has them", "[support][array_builder][unit]") {
  const ArraySpec spec{.shape = {3, 5},
                       .chunkshape = {2, 3},
                       .blockshape = {2, 2},
                       .dtype = "|u1",
                       .typesize = 1,
                       .chunk = {},
                       .padding = std::byte{'.'}};
  const auto chunks = cut_array(spec, text_bytes("abcdefghijklmno"));
  REQUIRE(chunks.size() == 4);
  CHECK(letters(chunks[0]) == "abfgc.h.");
  CHECK(letters(chunks[1]) == "deij....");
  CHECK(letters(chunks[2]) == "kl..m...");
  CHECK(letters(chunks[3]) == "no......");
  CHECK(chunk_of_item(spec, 0) == 0);
  CHECK(chunk_of_item(spec, 3) == 1);
  CHECK(chunk_of_item(spec, 14) == 3);
  CHECK(array_bytes(spec) == 15);
}

TEST_CASE("array_builder: items of several bytes stay whole", "[support][array_builder][unit]") {
  const ArraySpec spec{.shape = {3},
                       .chunkshape = {2},
                       .blockshape = {1},
                       .dtype = "|S2",
                       .typesize = 2,
                       .chunk = {},
                       .padding = std::byte{'.'}};
  const auto chunks = cut_array(spec, text_bytes("aAbBcC"));
  REQUIRE(chunks.size() == 2);
  CHECK(letters(chunks[0]) == "aAbB");
  CHECK(letters(chunks[1]) == "cC..");
}

TEST_CASE("array_builder: the frame's header has the sizes of whole blocks",
          "[support][array_builder][unit]") {
  const ArraySpec spec{.shape = {3, 5},
                       .chunkshape = {2, 3},
                       .blockshape = {2, 2},
                       .dtype = "<i2",
                       .typesize = 2,
                       .chunk = {}};
  const auto frame = array_frame(spec, Bytes(30));
  CHECK(frame.chunks.size() == 4);
  CHECK(frame.chunksize == 16);
  CHECK(frame.blocksize == 8);
  CHECK(frame.typesize == 2);
  CHECK(frame.metalayers.at(0).name == "b2nd");
}

}  // namespace
}  // namespace framefs::test::array_builder_test
