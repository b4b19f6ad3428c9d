// Intent: any bytes as an array metalayer.  A metalayer that is accepted keeps the guarantees of
// array_meta.h, and is the same after it is written and parsed again.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <span>

#include "codec/array/array_meta.h"
#include "tests/support/array_metalayer.h"

namespace {

using namespace framefs;

void demand(bool holds) {
  if (!holds) std::abort();
}

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
