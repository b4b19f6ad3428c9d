#include "codec/frame/chunk_offsets.h"

#include <algorithm>
#include <iterator>

#include "codec/chunk/chunk_header.h"
#include "codec/core/work_budget.h"

namespace framefs::codec {
namespace {

// The position of no chunk is certain then, so no byte of the frame is read.
std::unexpected<Error> sizes_disagree(const Frame& frame) {
  return fail_value(Errc::bad_field, "uncompressed_size", 30,
                    static_cast<std::int64_t>(frame.nbytes()));
}

}  // namespace

Result<ChunkOffsets> ChunkOffsets::make(const Frame& frame, const ByteSource& chunks,
                                        const EntryOf& entry_of, const Limits& limits) {
  if (!frame.header().has_variable_chunks()) {
    return of_equal(frame.header().chunksize, frame.nbytes());
  }
  ChunkOffsets table;
  table.nbytes_ = frame.nbytes();
  if (frame.chunk_count() > limits.chunk_sizes_bytes / sizeof(std::uint32_t)) {
    return fail_value(Errc::over_limit, "number of chunks", 0,
                      static_cast<std::int64_t>(frame.chunk_count()));
  }
  // Each chunk has a header.  If the headers do not fit in the stored bytes, chunks share headers,
  // which would be read many times.
  if (frame.chunk_count() > frame.header().cbytes / kShortHeaderBytes) {
    return fail_value(Errc::bad_field, "number of chunks", 0,
                      static_cast<std::int64_t>(frame.chunk_count()));
  }
  table.sizes_.reserve(frame.chunk_count());
  table.offsets_.reserve(frame.chunk_count() / kStride + 1);
  std::uint64_t end = 0;
  for (ChunkIndex chunk; chunk.value < frame.chunk_count(); ++chunk.value) {
    FRAMEFS_TRY(const auto entry, entry_of(chunk));
    const auto nbytes = frame.read_chunk_nbytes(chunks, chunk, entry);
    if (!nbytes && is_work_error(nbytes.error())) return std::unexpected(nbytes.error());
    if (!nbytes) {
      table.damage_ = std::unexpected(nbytes.error());
      table.nbytes_ = end;
      return table;
    }
    if (*nbytes > frame.nbytes() - end) return sizes_disagree(frame);
    if (chunk.value % kStride == 0) table.offsets_.push_back(end);
    table.sizes_.push_back(*nbytes);
    end += *nbytes;
  }
  if (end != frame.nbytes()) return sizes_disagree(frame);
  return table;
}

ChunkOffsets ChunkOffsets::of_equal(std::uint32_t chunksize, std::uint64_t nbytes) {
  ChunkOffsets table;
  table.chunksize_ = chunksize;
  table.nbytes_ = nbytes;
  return table;
}

Result<ChunkOffsets::Place> ChunkOffsets::find(std::uint64_t offset) const {
  if (chunksize_ > 0) {
    const std::uint64_t chunk = offset / chunksize_;
    const std::uint64_t begin = chunk * chunksize_;
    return Place{{chunk}, {begin, std::min(chunksize_, nbytes_ - begin)}};
  }
  if (offset >= nbytes_) return std::unexpected(damage_.error());
  // The chunk lies behind the last listed one that begins at or before `offset`.
  const auto after = std::ranges::upper_bound(offsets_, offset);
  auto chunk = static_cast<std::size_t>(after - offsets_.begin() - 1) * kStride;
  auto begin = *std::prev(after);
  for (; sizes_[chunk] <= offset - begin; ++chunk) begin += sizes_[chunk];
  return Place{{chunk}, {begin, sizes_[chunk]}};
}

}  // namespace framefs::codec
