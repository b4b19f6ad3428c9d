#include "tests/support/array_model.h"

#include <algorithm>

#include "codec/core/checked.h"
#include "tests/support/random_seed.h"

namespace framefs::test {
namespace {

// The row-major number of `at` in a grid of `counts`.
std::uint64_t row_major(const std::vector<std::uint64_t>& at,
                        const std::vector<std::uint64_t>& counts) {
  std::uint64_t number = 0;
  for (std::size_t d = 0; d < at.size(); ++d) number = number * counts[d] + at[d];
  return number;
}

std::uint64_t product(const std::vector<std::uint64_t>& factors) {
  std::uint64_t out = 1;
  for (const auto factor : factors) out *= factor;
  return out;
}

struct Grids {
  std::vector<std::uint64_t> chunks;  // in the array
  std::vector<std::uint64_t> blocks;  // in a chunk
  std::vector<std::uint64_t> block;   // items of a block
};

Grids grids(const ArrayShape& array) {
  Grids out;
  for (std::size_t d = 0; d < array.shape.size(); ++d) {
    const std::uint64_t chunk = array.chunkshape[d];
    const std::uint64_t block = array.blockshape[d];
    out.chunks.push_back(codec::div_ceil(array.shape[d], chunk));
    out.blocks.push_back(codec::div_ceil(chunk, block));
    out.block.push_back(block);
  }
  return out;
}

template <class T>
void append_numbers(std::string& to, const std::vector<T>& numbers) {
  for (const auto number : numbers) to += ' ' + std::to_string(number);
}

}  // namespace

codec::ArrayMeta array_meta(const ArrayShape& array) {
  codec::ArrayMeta meta;
  meta.ndim = static_cast<std::uint8_t>(array.shape.size());
  std::ranges::copy(array.shape, meta.shape.begin());
  std::ranges::copy(array.chunkshape, meta.chunkshape.begin());
  std::ranges::copy(array.blockshape, meta.blockshape.begin());
  return meta;
}

codec::FrameExtent frame_extent(const ArrayShape& array) {
  const auto grid = grids(array);
  const auto chunks = product(grid.chunks);
  const auto chunk_bytes = product(grid.blocks) * product(grid.block) * array.typesize;
  return {.nbytes = chunks * chunk_bytes, .chunksize = chunk_bytes, .chunk_count = chunks};
}

codec::ArrayLayout array_layout(const ArrayShape& array) {
  return codec::ArrayLayout::make(array_meta(array), array.typesize, frame_extent(array)).value();
}

std::vector<BytePlace> byte_places(const ArrayShape& array) {
  const auto grid = grids(array);
  const auto items = product(array.shape);
  std::vector<BytePlace> out;
  out.reserve(items * array.typesize);
  for (std::uint64_t item = 0; item < items; ++item) {
    const auto ndim = array.shape.size();
    std::vector<std::uint64_t> chunk(ndim);
    std::vector<std::uint64_t> block(ndim);
    std::vector<std::uint64_t> within(ndim);
    std::uint64_t rest = item;
    for (std::size_t d = ndim; d-- > 0;) {
      const auto index = rest % array.shape[d];
      rest /= array.shape[d];
      chunk[d] = index / array.chunkshape[d];
      block[d] = index % array.chunkshape[d] / array.blockshape[d];
      within[d] = index % array.chunkshape[d] % array.blockshape[d];
    }
    for (std::uint64_t byte = 0; byte < array.typesize; ++byte) {
      out.push_back({row_major(chunk, grid.chunks), row_major(block, grid.blocks),
                     row_major(within, grid.block) * array.typesize + byte});
    }
  }
  return out;
}

ArrayShape random_array(std::mt19937& random) {
  ArrayShape array;
  const auto ndim = random() % 6;
  // Dimensions are short if there are many of them.
  const std::uint32_t longest = ndim < 2 ? 60 : ndim < 3 ? 20 : ndim < 4 ? 9 : 5;
  for (std::size_t d = 0; d < ndim; ++d) {
    const bool none = draw(random) % 40 == 0;
    const auto shape = none ? 0 : draw(random) % longest + 1;
    // Sometimes one chunk or one block spans the whole dimension, so that rows are contiguous.
    auto chunk = draw(random) % (longest + 3) + 1;
    if (draw(random) % 3 == 0) chunk = std::max(shape, 1U);
    auto block = draw(random) % chunk + 1;
    if (draw(random) % 3 == 0) block = chunk;
    if (draw(random) % 4 == 0) block = std::max(std::min(shape, chunk), 1U);
    array.shape.push_back(shape);
    array.chunkshape.push_back(chunk);
    array.blockshape.push_back(block);
  }
  constexpr std::uint32_t kOftenMet = 17;
  constexpr std::uint32_t kLong = 300;  // too large for the header byte of a chunk
  array.typesize = draw(random) % 20 == 0 ? kLong : draw(random) % kOftenMet + 1;
  return array;
}

std::string describe(const ArrayShape& array) {
  std::string out = "shape";
  append_numbers(out, array.shape);
  out += ", chunkshape";
  append_numbers(out, array.chunkshape);
  out += ", blockshape";
  append_numbers(out, array.blockshape);
  return out + ", typesize " + std::to_string(array.typesize);
}

}  // namespace framefs::test
