#include "fs/source/decoded_source.h"

#include <utility>

#include "codec/array/run_cursor.h"

namespace framefs::fs {
codec::Status DecodedSource::read_at(std::uint64_t offset, std::span<std::byte> out) const {
  FRAMEFS_TRY(const auto all, size());
  if (offset > all || out.size() > all - offset) {
    return codec::fail(codec::Errc::truncated, "decoded bytes", offset);
  }
  const auto reader = readers_.take(
      [&] { return std::make_unique<codec::FrameReader>(*source_, *frame_, limits_); });
  codec::Status status;
  if (!array_) {
    status = reader->read(offset, out);
  } else {
    codec::RunCursor cursor(*array_, {offset, out.size()});
    while (status && cursor.next()) {
      const auto& run = cursor.run();
      const auto at = run.chunk.value * frame_->header().chunksize +
                      run.block.value * array_->block_bytes() + run.within;
      status = reader->read(at, out.subspan(run.offset - offset, run.size));
    }
  }
  return status;
}

codec::Result<std::uint64_t> DecodedSource::size() const {
  return array_ ? array_->nbytes() : frame_->nbytes();
}

}  // namespace framefs::fs
