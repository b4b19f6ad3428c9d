#include "tests/support/array_builder.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "tests/support/array_metalayer.h"

namespace framefs::test {
namespace {

// An array without items may have chunks without items.
std::uint64_t ceil_of(std::uint64_t value, std::uint64_t divisor) {
  return divisor == 0 ? 0 : (value + divisor - 1) / divisor;
}

template <class T>
std::uint64_t product(const std::vector<T>& factors) {
  std::uint64_t out = 1;
  for (const T factor : factors) out *= factor;
  return out;
}

struct Grid {
  std::vector<std::uint64_t> chunks;  // along each dimension
  std::vector<std::uint64_t> blocks;  // of a chunk
};

Grid grid_of(const ArraySpec& spec) {
  Grid grid;
  for (std::size_t d = 0; d < spec.shape.size(); ++d) {
    grid.chunks.push_back(ceil_of(spec.shape[d], spec.chunkshape[d]));
    grid.blocks.push_back(ceil_of(spec.chunkshape[d], spec.blockshape[d]));
  }
  return grid;
}

// The position of an item, by its indices.
struct Place {
  std::uint64_t chunk = 0;
  std::uint64_t item = 0;  // index in the chunk
};

Place place_of(const ArraySpec& spec, const Grid& grid, std::uint64_t item) {
  std::vector<std::uint64_t> index(spec.shape.size());
  for (std::size_t d = spec.shape.size(); d-- > 0;) {
    index[d] = item % spec.shape[d];
    item /= spec.shape[d];
  }
  Place place;
  std::uint64_t block = 0;
  std::uint64_t within = 0;
  for (std::size_t d = 0; d < index.size(); ++d) {
    const std::uint64_t in_chunk = index[d] % spec.chunkshape[d];
    place.chunk = place.chunk * grid.chunks[d] + index[d] / spec.chunkshape[d];
    block = block * grid.blocks[d] + in_chunk / spec.blockshape[d];
    within = within * spec.blockshape[d] + in_chunk % spec.blockshape[d];
  }
  place.item = block * product(spec.blockshape) + within;
  return place;
}

ArrayLayer layer_of(const ArraySpec& spec) {
  ArrayLayer layer;
  for (const auto dim : spec.shape) layer.shape.push_back(static_cast<std::int64_t>(dim));
  for (const auto dim : spec.chunkshape) {
    layer.chunkshape.push_back(static_cast<std::int32_t>(dim));
  }
  for (const auto dim : spec.blockshape) {
    layer.blockshape.push_back(static_cast<std::int32_t>(dim));
  }
  layer.dtype = spec.dtype;
  return layer;
}

}  // namespace

std::uint64_t array_bytes(const ArraySpec& spec) { return product(spec.shape) * spec.typesize; }

std::uint64_t chunk_of_item(const ArraySpec& spec, std::uint64_t item) {
  return place_of(spec, grid_of(spec), item).chunk;
}

std::vector<Bytes> cut_array(const ArraySpec& spec, std::span<const std::byte> data) {
  if (data.size() != array_bytes(spec)) {
    std::fprintf(stderr, "array_builder: data of another size than the array's\n");
    std::abort();
  }
  if (data.empty()) return {};
  const Grid grid = grid_of(spec);
  const std::uint64_t items = product(grid.blocks) * product(spec.blockshape);
  std::vector<Bytes> chunks(product(grid.chunks), Bytes(items * spec.typesize, spec.padding));
  for (std::uint64_t item = 0; item * spec.typesize < data.size(); ++item) {
    const Place place = place_of(spec, grid, item);
    const auto from = data.subspan(item * spec.typesize, spec.typesize);
    std::ranges::copy(from,
                      std::span(chunks[place.chunk]).subspan(place.item * spec.typesize).begin());
  }
  return chunks;
}

Bytes gather_array(const ArraySpec& spec, std::span<const std::byte> chunks) {
  Bytes data(array_bytes(spec));
  if (data.empty()) return data;
  const Grid grid = grid_of(spec);
  const std::uint64_t chunk_items = product(grid.blocks) * product(spec.blockshape);
  for (std::uint64_t item = 0; item * spec.typesize < data.size(); ++item) {
    const Place place = place_of(spec, grid, item);
    const std::uint64_t at = (place.chunk * chunk_items + place.item) * spec.typesize;
    std::ranges::copy(chunks.subspan(at, spec.typesize),
                      std::span(data).subspan(item * spec.typesize).begin());
  }
  return data;
}

FrameSpec array_frame_header(const ArraySpec& spec) {
  FrameSpec frame;
  frame.typesize = spec.typesize;
  frame.blocksize = static_cast<std::uint32_t>(product(spec.blockshape) * spec.typesize);
  frame.chunksize = static_cast<std::uint32_t>(product(grid_of(spec).blocks)) * frame.blocksize;
  frame.codec = spec.chunk.codec;
  frame.filters = spec.chunk.filters;
  frame.metalayers = {{.name = "b2nd", .content = array_metalayer(layer_of(spec))}};
  return frame;
}

FrameSpec array_frame(const ArraySpec& spec, std::span<const std::byte> data) {
  FrameSpec frame = array_frame_header(spec);
  ChunkSpec chunk = spec.chunk;
  chunk.typesize = spec.typesize;
  chunk.blocksize = frame.blocksize;
  for (const Bytes& plain : cut_array(spec, data)) {
    frame.chunks.push_back(stored_chunk(plain, chunk));
  }
  return frame;
}

}  // namespace framefs::test
