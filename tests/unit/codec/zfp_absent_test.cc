// For builds without libzfp; other builds have zfp_test.cc.
#include "codec/compressor/zfp.h"
#include "tests/support/bytes.h"
#include "tests/support/catch.h"
#include "tests/support/outcome.h"

namespace framefs::codec::zfp_absent_test {
namespace {

TEST_CASE("zfp: a build without the library says so", "[codec][zfp][unit]") {
  CHECK_FALSE(has_zfp());
  const test::Bytes in(16);
  test::Bytes out(16);
  Scratch scratch;
  const ZfpFormat format{.block_shape = {.ndim = 1, .dims = {4}}};
  CHECK(test::outcome(decode_zfp(format, in, out, scratch)) == "unsupported: codec zfp at 0");
}

}  // namespace
}  // namespace framefs::codec::zfp_absent_test
