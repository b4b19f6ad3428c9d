// The speed of planning a read of an array: a mebibyte from the middle of a 2-d array whose blocks
// have short rows.
//
//   framefs_array_bench --benchmark_repetitions=5
//
// Names are WHAT/BYTES PER ROW OF A BLOCK.  "runs" and "blocks" only iterate; "copy in order" looks
// up the block of each run; "copy by block" copies block by block.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include <benchmark/benchmark.h>

#include "codec/array/block_run_cursor.h"
#include "codec/array/run_cursor.h"
#include "codec/array/touched_blocks.h"
#include "tests/support/array_model.h"
#include "tests/support/bytes.h"

namespace framefs::codec {
namespace {

constexpr std::uint32_t kReadBytes = 1U << 20;

// Rows of 8 KiB and blocks of 32 rows.
ArrayLayout sample(std::uint32_t row_bytes) {
  return test::array_layout({{65536, 8192}, {1024, 16 * row_bytes}, {32, row_bytes}, 1});
}

template <class Read>
void measure(const std::string& name, std::uint32_t row_bytes, const Read& read) {
  benchmark::RegisterBenchmark(
      (name + '/' + std::to_string(row_bytes)).c_str(), [=](benchmark::State& state) {
        const auto layout = sample(row_bytes);
        const ByteRange range{layout.nbytes() / 2 + 5, kReadBytes};
        for (auto _ : state) read(layout, range);
        state.SetBytesProcessed(state.iterations() * std::int64_t{kReadBytes});
      });
}

void walk_runs(const ArrayLayout& layout, ByteRange range) {
  RunCursor cursor(layout, range);
  while (cursor.next()) {
    auto within = cursor.run().within;
    benchmark::DoNotOptimize(within);
  }
}

void walk_blocks(const ArrayLayout& layout, ByteRange range) {
  TouchedBlocks(layout, range).for_each([](ChunkIndex chunk, BlockIndex block) {
    benchmark::DoNotOptimize(chunk.value + block.value);
  });
}

void copy_in_order(const ArrayLayout& layout, ByteRange range) {
  static test::Bytes out(kReadBytes);
  const test::Bytes block(layout.block_bytes());
  std::unordered_map<std::uint64_t, const std::byte*> blocks;
  const auto key = [&](ChunkIndex chunk, BlockIndex index) {
    return chunk.value * layout.blocks_per_chunk() + index.value;
  };
  TouchedBlocks(layout, range).for_each([&](ChunkIndex chunk, BlockIndex index) {
    blocks[key(chunk, index)] = block.data();
  });
  RunCursor cursor(layout, range);
  while (cursor.next()) {
    const auto& run = cursor.run();
    std::copy_n(blocks.find(key(run.chunk, run.block))->second + run.within, run.size,
                out.data() + (run.offset - range.offset));
  }
  benchmark::ClobberMemory();
}

void copy_by_block(const ArrayLayout& layout, ByteRange range) {
  static test::Bytes out(kReadBytes);
  const test::Bytes block(layout.block_bytes());
  TouchedBlocks(layout, range).for_each([&](ChunkIndex chunk, BlockIndex index) {
    BlockRunCursor cursor(layout, chunk, index, range);
    while (cursor.next()) {
      const auto& run = cursor.run();
      std::copy_n(block.data() + run.within, run.size, out.data() + (run.offset - range.offset));
    }
  });
  benchmark::ClobberMemory();
}

void register_all() {
  for (const std::uint32_t row_bytes : {8U, 10U, 64U, 512U}) {
    measure("runs", row_bytes, walk_runs);
    measure("blocks", row_bytes, walk_blocks);
    measure("copy in order", row_bytes, copy_in_order);
    measure("copy by block", row_bytes, copy_by_block);
  }
}

}  // namespace
}  // namespace framefs::codec

int main(int argc, char** argv) {
  framefs::codec::register_all();
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
