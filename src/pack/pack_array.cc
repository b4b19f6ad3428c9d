#include "src/pack/pack_array.h"

#include <algorithm>
#include <cerrno>
#include <thread>
#include <utility>
#include <vector>

#include "codec/array/array_layout.h"
#include "codec/array/array_meta.h"
#include "codec/array/array_meta_writer.h"
#include "codec/array/block_run_cursor.h"
#include "codec/chunk/chunk_encoder.h"
#include "codec/core/checked.h"
#include "codec/frame/frame_writer.h"
#include "src/cli/progress_bar.h"
#include "src/pack/array_shapes.h"

namespace framefs {
namespace {

using codec::Result;
using codec::Status;

// Small blocks keep reads of single items cheap.
constexpr std::uint64_t kBlockBytes = 128u << 10;

// The parameters of the frame of an array.
struct ArrayPlan {
  std::vector<std::byte> metalayer;
  codec::ArrayLayout layout;
  std::uint32_t chunk_bytes = 0;
};

Result<ArrayPlan> plan_array(const NpyHeader& header, const PackOptions& options) {
  const std::uint64_t block =
      options.encode.blocksize != 0 ? options.encode.blocksize : kBlockBytes;
  const auto shapes = choose_array_shapes(header.shape, header.typesize, options.chunksize, block);
  std::vector<std::int64_t> shape;
  for (const auto extent : header.shape) shape.push_back(static_cast<std::int64_t>(extent));
  FRAMEFS_TRY(auto metalayer,
              codec::encode_b2nd_metalayer(shape, shapes.chunk, shapes.block, header.dtype));
  FRAMEFS_TRY(const auto meta, codec::parse_array_meta(metalayer));
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
                   .layout = std::move(layout),
                   .chunk_bytes = static_cast<std::uint32_t>(chunk_bytes)};
}

// Gathers the items of one chunk from the file.  Items beyond the array's edge are zeros.
Status read_chunk(int fd, const NpyHeader& header, const codec::ArrayLayout& layout,
                  std::uint64_t chunk, std::span<std::byte> out) {
  std::ranges::fill(out, std::byte{0});
  for (std::uint64_t block = 0; block < layout.blocks_per_chunk(); ++block) {
    codec::BlockRunCursor cursor(layout, {chunk}, {block}, {0, layout.nbytes()});
    const auto target = out.subspan(block * layout.block_bytes(), layout.block_bytes());
    while (cursor.next()) {
      const auto& run = cursor.run();
      FRAMEFS_CHECK(
          fs::read_fully(fd, header.data_at + run.offset, target.subspan(run.within, run.size)));
    }
  }
  return {};
}

// The buffers of one chunk.
struct ArrayLane {
  std::vector<std::byte> plain;
  std::vector<std::byte> stored;
  codec::ChunkEncoder encoder;
  Result<std::size_t> stored_bytes = 0;
};

Result<std::size_t> read_and_encode(int fd, const NpyHeader& header, const ArrayPlan& plan,
                                    const codec::EncodeParams& params, std::uint64_t chunk,
                                    ArrayLane& lane) {
  FRAMEFS_CHECK(read_chunk(fd, header, plan.layout, chunk, lane.plain));
  return lane.encoder.encode(params, lane.plain, lane.stored);
}

Status append(codec::FrameWriter& writer, const ArrayPlan& plan, const ArrayLane& lane) {
  FRAMEFS_TRY(const auto size, lane.stored_bytes);
  if (size == 0) return writer.append_special(codec::Special::zero, plan.chunk_bytes);
  return writer.append_chunk(std::span(lane.stored).first(size));
}

}  // namespace

Result<Packed> pack_array(int fd, const NpyHeader& header, codec::ByteSink& sink,
                          const std::string& name, const PackOptions& options,
                          fs::WorkerPool& pool) {
  FRAMEFS_TRY(auto plan, plan_array(header, options));
  const auto chunks = plan.layout.chunk_count();
  const std::size_t threads =
      options.threads != 0 ? options.threads : std::max(1U, std::thread::hardware_concurrency());
  std::vector<ArrayLane> lanes(std::min<std::uint64_t>(chunks, threads));
  for (auto& lane : lanes) {
    lane.plain.resize(plan.chunk_bytes);
    lane.stored.resize(codec::ChunkPlan::max_bytes(plan.chunk_bytes));
  }
  auto encode = options.encode;
  encode.blocksize = plan.layout.block_bytes();
  const codec::EncodeHints hints{.typesize = header.typesize, .filter = options.hints.filter};
  FRAMEFS_CHECK(read_chunk(fd, header, plan.layout, 0, lanes.front().plain));
  FRAMEFS_TRY(encode, codec::choose_params_by_trial(encode, hints, lanes.front().plain));
  codec::FrameParams params{
      .encode = encode, .chunksize = plan.chunk_bytes, .checksums = options.checksums};
  params.metalayers.push_back({codec::kB2ndMetalayer, std::move(plan.metalayer)});
  FRAMEFS_TRY(auto writer, codec::FrameWriter::create(sink, params));
  ProgressBar progress(name, chunks * plan.chunk_bytes, options.quiet);
  for (std::uint64_t first = 0; first < chunks; first += lanes.size()) {
    if (options.stop && options.stop()) return fs::system_error_of(EINTR, "stopped");
    const auto count = std::min<std::uint64_t>(lanes.size(), chunks - first);
    pool.run(count, [&](std::size_t i) {
      lanes[i].stored_bytes = read_and_encode(fd, header, plan, encode, first + i, lanes[i]);
    });
    for (std::size_t i = 0; i < count; ++i) FRAMEFS_CHECK(append(writer, plan, lanes[i]));
    progress.update(writer.nbytes());
  }
  FRAMEFS_TRY(const auto stored, writer.finish());
  return Packed{.plain = header.data_at + plan.layout.nbytes(), .stored = stored};
}

}  // namespace framefs
