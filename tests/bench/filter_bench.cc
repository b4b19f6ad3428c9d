// The speed of reversing filters, with every implementation that this CPU can run, beside a plain
// copy.
//
//   framefs_filter_bench --benchmark_filter=unshuffle/.*/12/ --benchmark_repetitions=5
//
// Names are FILTER/IMPLEMENTATION/WIDTH/KIB.  A block of 8 KiB and its result fit in a first-level
// cache of 32 KiB; blocks of 32 and 256 KiB fit in a second-level cache of 1 MiB.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>

#include "codec/filter/bitshuffle_impl.h"
#include "codec/filter/bytedelta.h"
#include "codec/filter/delta.h"
#include "codec/filter/kernels.h"
#include "tests/support/sample_data.h"

namespace framefs::codec {
namespace {

using test::Bytes;

constexpr std::size_t kKiB = 1024;
constexpr std::size_t kBlockKiB[] = {8, 32, 256, 1024};

// Runs `undo(in, out)` on one block repeatedly.
template <class Undo>
void measure(const std::string& name, std::size_t width, const Undo& undo) {
  for (const std::size_t kib : kBlockKiB) {
    const auto title = name + '/' + std::to_string(width) + '/' + std::to_string(kib);
    benchmark::RegisterBenchmark(title.c_str(), [=](benchmark::State& state) {
      const Bytes in = test::noise(kib * kKiB, 1);
      Bytes out(in.size());
      for (auto _ : state) {
        undo(in, out);
        benchmark::DoNotOptimize(out.data());
        benchmark::ClobberMemory();
      }
      state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations()) *
                              static_cast<std::int64_t>(out.size()));
    });
  }
}

void register_all() {
  measure("copy/memcpy", 1,
          [](const Bytes& in, Bytes& out) { std::memcpy(out.data(), in.data(), in.size()); });
  for (const auto& kernels : usable_kernels()) {
    for (const std::size_t width :
         {2U, 3U, 4U, 5U, 6U, 7U, 8U, 9U, 12U, 15U, 16U, 20U, 24U, 32U, 48U, 64U, 100U, 255U}) {
      measure(std::string("unshuffle/") + kernels.name, width, [=](const Bytes& in, Bytes& out) {
        const std::size_t elements = in.size() / width;
        kernels.unshuffle(width, {in.data(), elements, elements}, out.data(), width);
      });
    }
    for (const std::size_t width : {1U, 2U, 3U, 4U, 8U, 12U, 16U, 32U, 100U}) {
      measure(std::string("bitunshuffle/") + kernels.name, width, [=](const Bytes& in, Bytes& out) {
        bitunshuffle_with(kernels, width, in, out, BitshuffleTail::copy_partial_group);
      });
    }
  }
  for (const std::size_t width : {1U, 2U, 4U, 8U}) {
    measure("undelta_first_block/any", width,
            [=](const Bytes&, Bytes& out) { undelta_first_block(width, out); });
  }
  measure("undelta_block/any", 8, [](const Bytes& in, Bytes& out) { undelta_block(8, out, in); });
  measure("unbytedelta/any", 4,
          [](const Bytes&, Bytes& out) { unbytedelta(4, out, BytedeltaSum::whole_stream); });
}

}  // namespace
}  // namespace framefs::codec

int main(int argc, char** argv) {
  framefs::codec::register_all();
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
}
