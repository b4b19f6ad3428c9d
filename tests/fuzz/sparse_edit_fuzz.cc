// Intent: any bytes as the index file and the chunk files of a sparse frame that is edited.  See
// EditChecks.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>

#include "tests/fuzz/edit_checks.h"
#include "tests/fuzz/sparse_input.h"
#include "tests/support/fast_hash.h"
#include "tests/support/sparse_frame_builder.h"
#include "tests/support/temp_directory.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace framefs;
  static const test::TempDirectory kFolder;
  const auto bytes = std::as_bytes(std::span(data, size));
  const auto path = kFolder.path() / "x.b2frame";
  test::write_sparse_frame(path, fuzz::take_sparse_frame(bytes));
  fuzz::EditChecks(path, test::fast_hash(bytes)).run();
  std::filesystem::remove_all(path);
  return 0;
}
