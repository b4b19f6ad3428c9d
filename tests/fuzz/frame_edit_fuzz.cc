// Intent: any bytes as a contiguous frame that is edited.  See EditChecks.

#include <cstddef>
#include <cstdint>
#include <span>

#include "tests/fuzz/edit_checks.h"
#include "tests/support/fast_hash.h"
#include "tests/support/temp_directory.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace framefs;
  static const test::TempDirectory kFolder;
  const auto bytes = std::as_bytes(std::span(data, size));
  fuzz::EditChecks(kFolder.write("x.b2frame", bytes), test::fast_hash(bytes)).run();
  return 0;
}
