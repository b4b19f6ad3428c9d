#include "codec/array/array_meta.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "codec/core/byte_reader.h"
#include "codec/core/checked.h"
#include "codec/core/msgpack_markers.h"

namespace framefs::codec {
namespace {

constexpr std::uint64_t kMaxItems = std::numeric_limits<std::int64_t>::max();
constexpr std::uint64_t kMaxChunkItems = std::numeric_limits<std::int32_t>::max();

// Parses one of the three lists: a marker for the list, then a marker and a number for each
// dimension.  The numbers are read as signed, so that a damaged one shows as negative.
template <class Stored, class Out>
Status parse_dims(ByteReader& in, std::span<Out> out, const char* field) {
  FRAMEFS_TRY([[maybe_unused]] const auto list_marker, in.u8(field));
  for (Out& dim : out) {
    FRAMEFS_TRY([[maybe_unused]] const auto marker, in.u8(field));
    const auto at = in.position();
    FRAMEFS_TRY(const auto stored, in.be<Stored>(field));
    if (stored < 0) return fail_value(Errc::bad_field, field, at, stored);
    dim = static_cast<Out>(stored);
  }
  return {};
}

Status parse_dtype(ByteReader& in, ArrayMeta& meta) {
  FRAMEFS_TRY(meta.dtype_format, in.u8("dtype format"));
  const auto at = in.position();
  FRAMEFS_TRY(const auto marker, in.u8("dtype"));
  if (marker != kMarkerStr32) return fail_value(Errc::bad_field, "dtype", at, marker);
  FRAMEFS_TRY(const auto length, in.be<std::int32_t>("dtype length"));
  if (length < 0) return fail_value(Errc::bad_field, "dtype length", at + 1, length);
  FRAMEFS_TRY(const auto text, in.take(static_cast<std::size_t>(length), "dtype"));
  meta.dtype.resize(text.size());
  std::ranges::transform(text, meta.dtype.begin(),
                         [](std::byte b) { return static_cast<char>(b); });
  return {};
}

// The offset of the number of dimension i in the chunkshape, and in the blockshape below.
std::uint64_t chunk_dim_at(const ArrayMeta& meta, std::size_t i) {
  return 6 + std::uint64_t{meta.ndim} * 9 + i * 5;
}
std::uint64_t block_dim_at(const ArrayMeta& meta, std::size_t i) {
  return chunk_dim_at(meta, meta.ndim) + 1 + i * 5;
}

// Multiplies `product` by a dimension.  A dimension of 0 counts as 1, because strides are products
// of only some of the dimensions.
void multiply_dim(std::optional<std::uint64_t>& product, std::uint64_t dim) {
  multiply(product, std::max<std::uint64_t>(dim, 1));
}

Status check_product(std::optional<std::uint64_t> product, std::uint64_t most, const char* field) {
  if (!product || *product > most) return fail(Errc::bad_field, field);
  return {};
}

// Checks the rules between the dimensions.
Status check_dims(const ArrayMeta& meta) {
  std::optional<std::uint64_t> items = 1;
  std::optional<std::uint64_t> items_of_whole_chunks = 1;
  std::optional<std::uint64_t> chunk_items = 1;
  std::optional<std::uint64_t> block_items = 1;
  for (std::size_t i = 0; i < meta.ndim; ++i) {
    const auto dim = meta.shape[i];
    const std::uint64_t chunk = meta.chunkshape[i];
    const std::uint64_t block = meta.blockshape[i];
    if (dim > 0) {
      if (chunk == 0) return fail_value(Errc::bad_field, "chunkshape", chunk_dim_at(meta, i), 0);
      if (block == 0 || block > chunk) {
        return fail_value(Errc::bad_field, "blockshape", block_dim_at(meta, i), meta.blockshape[i]);
      }
      multiply_dim(items_of_whole_chunks, div_ceil(dim, chunk) * chunk);
    }
    multiply_dim(items, dim);
    multiply_dim(chunk_items, chunk);
    multiply_dim(block_items, block);
  }
  FRAMEFS_CHECK(check_product(items, kMaxItems, "product of the shape"));
  FRAMEFS_CHECK(check_product(items_of_whole_chunks, kMaxItems, "product of the shape"));
  FRAMEFS_CHECK(check_product(chunk_items, kMaxChunkItems, "product of the chunkshape"));
  return check_product(block_items, kMaxChunkItems, "product of the blockshape");
}

}  // namespace

Result<ArrayMeta> parse_array_meta(std::span<const std::byte> content) {
  ByteReader in(content);
  ArrayMeta meta;
  FRAMEFS_TRY([[maybe_unused]] const auto marker, in.u8("array metalayer"));
  FRAMEFS_TRY([[maybe_unused]] const auto version, in.u8("array metalayer version"));
  const auto ndim_at = in.position();
  FRAMEFS_TRY(meta.ndim, in.u8("ndim"));
  if (meta.ndim > kMaxDims) return fail_value(Errc::bad_field, "ndim", ndim_at, meta.ndim);
  const std::size_t ndim = meta.ndim;
  FRAMEFS_CHECK(parse_dims<std::int64_t>(in, std::span(meta.shape).first(ndim), "shape"));
  FRAMEFS_CHECK(parse_dims<std::int32_t>(in, std::span(meta.chunkshape).first(ndim), "chunkshape"));
  FRAMEFS_CHECK(parse_dims<std::int32_t>(in, std::span(meta.blockshape).first(ndim), "blockshape"));
  if (in.remaining() > 0) FRAMEFS_CHECK(parse_dtype(in, meta));
  FRAMEFS_CHECK(check_dims(meta));
  return meta;
}

}  // namespace framefs::codec
