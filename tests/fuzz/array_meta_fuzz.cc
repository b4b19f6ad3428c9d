// Intent: any bytes as an array metalayer.  A metalayer that is accepted keeps the guarantees of
// array_meta.h, and is the same after it is written and parsed again.  In a frame of chunks that
// fit the array, the blocks of any range hold every byte of the range exactly once.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <random>
#include <span>

#include "codec/array/array_layout.h"
#include "codec/array/array_meta.h"
#include "tests/fuzz/array_checks.h"
#include "tests/support/array_metalayer.h"

namespace {

using namespace framefs;

using fuzz::demand;

// Checks the guarantees, in numbers wide enough for every product.
void check_promises(const codec::ArrayMeta& meta) {
  __extension__ using Wide = unsigned __int128;
  Wide items = 1;
  Wide items_of_whole_chunks = 1;
  Wide chunk_items = 1;
  Wide block_items = 1;
  demand(meta.ndim <= codec::kMaxDims);
  for (std::size_t i = 0; i < meta.ndim; ++i) {
    const Wide dim = meta.shape[i];
    const Wide chunk = meta.chunkshape[i];
    const Wide block = meta.blockshape[i];
    if (dim > 0) {
      demand(block > 0 && block <= chunk);
      items *= dim;
      items_of_whole_chunks *= (dim + chunk - 1) / chunk * chunk;
    }
    chunk_items *= chunk > 0 ? chunk : 1;
    block_items *= block > 0 ? block : 1;
    // The factors are small enough that the next step cannot overflow.
    constexpr Wide kMax = std::numeric_limits<std::int64_t>::max();
    demand(items <= kMax && items_of_whole_chunks <= kMax);
    demand(chunk_items <= std::numeric_limits<std::int32_t>::max());
    demand(block_items <= std::numeric_limits<std::int32_t>::max());
  }
}

// The chunks that a frame needs for the array; all 0 if they are more than a frame can have.
codec::FrameExtent extent_of(const codec::ArrayMeta& meta, std::uint32_t typesize) {
  __extension__ using Wide = unsigned __int128;
  constexpr Wide kMax = std::numeric_limits<std::int32_t>::max();
  Wide chunksize = typesize;
  Wide chunks = 1;
  for (std::size_t i = 0; i < meta.ndim; ++i) {
    const Wide block = std::max<Wide>(meta.blockshape[i], 1);
    const Wide chunk = std::max<Wide>(meta.chunkshape[i], 1);
    chunksize *= (chunk + block - 1) / block * block;
    chunks *= (meta.shape[i] + chunk - 1) / chunk;
    if (chunksize > kMax || chunks > kMax) return {};
  }
  return {.nbytes = static_cast<std::uint64_t>(chunks * chunksize),
          .chunksize = static_cast<std::uint64_t>(chunksize),
          .chunk_count = static_cast<std::uint64_t>(chunks)};
}

void check_layout(const codec::ArrayMeta& meta, std::size_t seed) {
  std::mt19937 random(static_cast<std::uint32_t>(seed));
  for (const std::uint32_t typesize : {1U, 4U, 7U}) {
    const auto layout = codec::ArrayLayout::make(meta, typesize, extent_of(meta, typesize));
    if (layout) fuzz::check_runs(*layout, random);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto meta = codec::parse_array_meta(std::as_bytes(std::span(data, size)));
  if (!meta) {
    demand(meta.error().kind == codec::Errc::truncated ||
           meta.error().kind == codec::Errc::bad_field);
    demand(meta.error().at <= size);
    return 0;
  }
  check_promises(*meta);
  check_layout(*meta, size);
  const auto shape = meta->array_dims();
  const auto chunkshape = meta->chunk_dims();
  const auto blockshape = meta->block_dims();
  const auto again = codec::parse_array_meta(
      test::array_metalayer({.shape = {shape.begin(), shape.end()},
                             .chunkshape = {chunkshape.begin(), chunkshape.end()},
                             .blockshape = {blockshape.begin(), blockshape.end()},
                             .dtype = meta->dtype,
                             .dtype_format = meta->dtype_format}));
  demand(again && again->ndim == meta->ndim && again->shape == meta->shape &&
         again->chunkshape == meta->chunkshape && again->blockshape == meta->blockshape &&
         again->dtype == meta->dtype && again->dtype_format == meta->dtype_format);
  return 0;
}
