#include <array>

#include "codec/filter/cpu_features.h"
#include "codec/filter/kernels.h"

namespace framefs::codec {
namespace {

struct KernelTable {
  std::array<FilterKernels, 4> entries = {};
  std::size_t size = 0;
};

KernelTable make_table() noexcept {
  const CpuFeatures cpu = detect_cpu_features();
  KernelTable table;
  const auto add = [&table](const FilterKernels& kernels) {
    table.entries[table.size++] = kernels;
  };
  add({"scalar", unshuffle_scalar, bit_rows_scalar, shuffle_scalar, split_bits_scalar,
       prefix_sum_scalar});
  // Shuffling, splitting bits and sums gain nothing from newer instructions than AVX2.
  if (cpu.avx2)
    add({"avx2", unshuffle_avx2, bit_rows_avx2, shuffle_avx2, split_bits_avx2, prefix_sum_avx2});
  if (cpu.gfni) {
    add({"avx2+gfni", unshuffle_avx2, bit_rows_gfni, shuffle_avx2, split_bits_avx2,
         prefix_sum_avx2});
  }
  // With GFNI, bit rows gain nothing from vectors wider than AVX2's.
  if (cpu.avx512) {
    add({"avx512", unshuffle_avx512, cpu.gfni ? bit_rows_gfni : bit_rows_avx2, shuffle_avx2,
         split_bits_avx2, prefix_sum_avx2});
  }
  return table;
}

}  // namespace

std::span<const FilterKernels> usable_kernels() noexcept {
  static const KernelTable kTable = make_table();
  return std::span(kTable.entries).first(kTable.size);
}

}  // namespace framefs::codec
