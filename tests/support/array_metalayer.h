#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tests/support/bytes.h"

namespace framefs::test {

// The fields of an array metalayer.  They are signed as in the file, so that tests can use wrong
// values.
struct ArrayLayer {
  std::vector<std::int64_t> shape = {};
  std::vector<std::int32_t> chunkshape = {};
  std::vector<std::int32_t> blockshape = {};
  std::string dtype = "|u1";
  std::uint8_t dtype_format = 0;
};

// The content of a "b2nd" metalayer, or of a "caterva" one, which has no dtype.
// Source: array format, "Metalayer".
Bytes array_metalayer(const ArrayLayer& layer);
Bytes caterva_metalayer(const ArrayLayer& layer);

}  // namespace framefs::test
