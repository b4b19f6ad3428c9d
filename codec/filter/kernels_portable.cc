#include "codec/filter/kernels.h"

namespace framefs::codec {

std::span<const FilterKernels> usable_kernels() noexcept {
  static constexpr FilterKernels kKernels[] = {{"scalar", unshuffle_scalar, bit_rows_scalar,
                                                shuffle_scalar, split_bits_scalar,
                                                prefix_sum_scalar}};
  return kKernels;
}

}  // namespace framefs::codec
