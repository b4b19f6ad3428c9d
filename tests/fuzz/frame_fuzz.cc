// Intent: any bytes as a contiguous frame, of today or of the betas.  open(), the metalayers and
// all ways of reading stay within the limits.  If the whole frame can be read, it equals its chunks
// block by block, and any sub-range.

#include <cstddef>
#include <cstdint>
#include <span>

#include "codec/core/byte_source.h"
#include "codec/frame/frame.h"
#include "tests/fuzz/frame_checks.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace framefs;
  const codec::MemorySource source(std::as_bytes(std::span(data, size)));
  const auto frame = codec::Frame::open(source, fuzz::small_limits());
  if (!frame) {
    fuzz::demand(frame.error().kind != codec::Errc::internal);
    return 0;
  }
  fuzz::FrameChecks(source, source, *frame).run(size);
  return 0;
}
