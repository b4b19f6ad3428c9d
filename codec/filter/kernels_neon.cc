#include "codec/filter/kernels.h"

namespace framefs::codec {

std::span<const FilterKernels> usable_kernels() noexcept {
  static constexpr FilterKernels kKernels[] = {
      {"scalar", unshuffle_scalar, bit_rows_scalar, shuffle_scalar, split_bits_scalar,
       prefix_sum_scalar},
      {"neon", unshuffle_neon, bit_rows_neon, shuffle_neon, split_bits_neon, prefix_sum_neon}};
  return kKernels;
}

}  // namespace framefs::codec
