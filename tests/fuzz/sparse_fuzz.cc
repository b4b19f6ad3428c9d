// Intent: any bytes as the index file and the chunk files of a sparse frame.  open() and all ways
// of reading stay within the limits and within each file.  If the whole frame can be read, it
// equals its chunks block by block, and any sub-range.

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "codec/core/byte_source.h"
#include "codec/frame/frame.h"
#include "tests/fuzz/frame_checks.h"
#include "tests/fuzz/sparse_input.h"
#include "tests/support/memory_chunks.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace framefs;
  auto input = fuzz::take_sparse_frame(std::as_bytes(std::span(data, size)));
  const codec::MemorySource source(input.index_file);
  const test::MemoryChunks chunks(std::move(input.chunks));
  const auto frame = codec::Frame::open_sparse(source, fuzz::small_limits());
  if (!frame) {
    fuzz::demand(frame.error().kind != codec::Errc::internal);
    return 0;
  }
  fuzz::FrameChecks(source, chunks, *frame).run(size);
  return 0;
}
