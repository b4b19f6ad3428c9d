#include "fs/write/array_packer.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include "codec/array/array_meta_writer.h"
#include "codec/array/array_shapes.h"
#include "codec/array/block_run_cursor.h"
#include "codec/chunk/chunk_encoder.h"
#include "codec/core/checked.h"
#include "codec/frame/frame_writer.h"

namespace framefs::fs {
namespace {

using codec::ByteRange;
using codec::NpyHeader;

// Small blocks keep reads of single items cheap.
constexpr std::uint64_t kBlockBytes = 128u << 10;

// The smallest range of the file that has all items of `count` chunks from `first` on.
ByteRange range_of(const NpyHeader& header, const codec::ArrayLayout& layout, std::uint64_t first,
                   std::uint64_t count) {
  std::uint64_t begin = layout.nbytes();
  std::uint64_t end = 0;
  for (auto chunk = first; chunk < first + count; ++chunk) {
    for (std::uint64_t block = 0; block < layout.blocks_per_chunk(); ++block) {
      const auto box = layout.box_of({chunk}, {block});
      if (box.empty) continue;
      std::uint64_t at = 0;
      for (std::size_t i = 0; i < layout.axes().size(); ++i) {
        at += box.begin[i] * layout.axes()[i].step_bytes;
      }
      begin = std::min(begin, at);
      end = std::max(end, layout.end_of_block({chunk}, {block}));
    }
  }
  return {header.data_at + begin, end - std::min(begin, end)};
}

// Gathers the items of one chunk.  Items beyond the array's edge are zeros.
Status read_chunk(const ArrayItems& items, const NpyHeader& header,
                  const codec::ArrayLayout& layout, std::uint64_t chunk, std::span<std::byte> out) {
  std::ranges::fill(out, std::byte{0});
  for (std::uint64_t block = 0; block < layout.blocks_per_chunk(); ++block) {
    codec::BlockRunCursor cursor(layout, {chunk}, {block}, {0, layout.nbytes()});
    const auto target = out.subspan(block * layout.block_bytes(), layout.block_bytes());
    while (cursor.next()) {
      const auto& run = cursor.run();
      FRAMEFS_CHECK(
          items.read_at(header.data_at + run.offset, target.subspan(run.within, run.size)));
    }
  }
  return {};
}

// The buffers of one chunk.
struct ArrayLane {
  std::vector<std::byte> plain;
  std::vector<std::byte> stored;
  codec::ChunkEncoder encoder;
  Status read;
  Result<std::size_t> stored_bytes = 0;
};

Status append(codec::FrameWriter& writer, const ArrayPlan& plan, const ArrayLane& lane) {
  FRAMEFS_CHECK(lane.read);
  FRAMEFS_TRY(const auto size, lane.stored_bytes);
  if (size == 0) return writer.append_special(codec::Special::zero, plan.chunk_bytes);
  return writer.append_chunk(std::span(lane.stored).first(size));
}

}  // namespace

Result<ArrayPlan> plan_array(const NpyHeader& header, const ArrayPacking& packing) {
  const std::uint64_t block =
      packing.encode.blocksize != 0 ? packing.encode.blocksize : kBlockBytes;
  const auto shapes =
      codec::choose_array_shapes(header.shape, header.typesize, packing.chunksize, block);
  std::vector<std::int64_t> shape;
  shape.reserve(header.shape.size());
  for (const auto extent : header.shape) shape.push_back(static_cast<std::int64_t>(extent));
  FRAMEFS_TRY(auto metalayer,
              codec::encode_b2nd_metalayer(shape, shapes.chunk, shapes.block, header.dtype));
  FRAMEFS_TRY(auto meta, codec::parse_array_meta(metalayer));
  std::uint64_t chunk_bytes = header.typesize;
  std::uint64_t chunks = 1;
  for (std::size_t i = 0; i < header.shape.size(); ++i) {
    const auto chunk_items = static_cast<std::uint64_t>(shapes.chunk[i]);
    const auto block_items = static_cast<std::uint64_t>(shapes.block[i]);
    chunk_bytes *= codec::div_ceil(chunk_items, block_items) * block_items;
    chunks *= codec::div_ceil(header.shape[i], chunk_items);
  }
  if (chunk_bytes > codec::kMaxChunkBytes) {
    return codec::fail(codec::Errc::over_limit, "size of a chunk");
  }
  FRAMEFS_TRY(auto layout, codec::ArrayLayout::make(meta, header.typesize,
                                                    {.nbytes = chunks * chunk_bytes,
                                                     .chunksize = chunk_bytes,
                                                     .chunk_count = chunks}));
  return ArrayPlan{.metalayer = std::move(metalayer),
                   .meta = std::move(meta),
                   .layout = layout,
                   .chunk_bytes = static_cast<std::uint32_t>(chunk_bytes)};
}

Result<std::uint64_t> pack_array(ArrayItems& items, const NpyHeader& header, const ArrayPlan& plan,
                                 const ArrayPacking& packing, codec::ByteSink& sink,
                                 WorkerPool& pool,
                                 const std::function<bool(std::uint64_t)>& go_on) {
  const auto& layout = plan.layout;
  const auto chunks = layout.chunk_count();
  std::vector<ArrayLane> lanes(std::min<std::uint64_t>(chunks, packing.lanes));
  for (auto& lane : lanes) {
    lane.plain.resize(plan.chunk_bytes);
    lane.stored.resize(codec::ChunkPlan::max_bytes(plan.chunk_bytes));
  }
  auto encode = packing.encode;
  encode.blocksize = layout.block_bytes();
  const codec::EncodeHints hints{.typesize = header.typesize, .filter = packing.hints.filter};
  FRAMEFS_CHECK(items.prepare(range_of(header, layout, 0, 1)));
  FRAMEFS_CHECK(read_chunk(items, header, layout, 0, lanes.front().plain));
  FRAMEFS_TRY(encode, codec::choose_params_by_trial(encode, hints, lanes.front().plain));
  codec::FrameParams params{.encode = encode,
                            .chunksize = plan.chunk_bytes,
                            .metalayers = {{codec::kB2ndMetalayer, plan.metalayer}},
                            .vlmetalayers = packing.vlmetalayers,
                            .checksums = packing.checksums};
  params.metalayers.insert(params.metalayers.end(), packing.metalayers.begin(),
                           packing.metalayers.end());
  FRAMEFS_TRY(auto writer, codec::FrameWriter::create(sink, params));
  for (std::uint64_t first = 0; first < chunks; first += lanes.size()) {
    if (!go_on(writer.nbytes())) return system_error_of(EINTR, "stopped");
    const auto count = std::min<std::uint64_t>(lanes.size(), chunks - first);
    const auto read = [&](std::size_t i) {
      lanes[i].read = read_chunk(items, header, layout, first + i, lanes[i].plain);
    };
    FRAMEFS_TRY(const bool in_pool, items.prepare(range_of(header, layout, first, count)));
    for (std::size_t i = 0; i < count && !in_pool; ++i) read(i);
    pool.run(count, [&](std::size_t i) {
      auto& lane = lanes[i];
      if (in_pool) read(i);
      if (lane.read) lane.stored_bytes = lane.encoder.encode(encode, lane.plain, lane.stored);
    });
    for (std::size_t i = 0; i < count; ++i) FRAMEFS_CHECK(append(writer, plan, lanes[i]));
  }
  return writer.finish();
}

}  // namespace framefs::fs
