#pragma once

#include <span>

#include "codec/filter/kernel_functions.h"

namespace framefs::codec {

// One implementation of the hot loops.  All implementations give the same bytes; tests compare them
// with the portable one.
struct FilterKernels {
  const char* name;
  UnshuffleKernel unshuffle;
  BitRowsKernel bit_rows;
  ShuffleKernel shuffle;
  SplitBitsKernel split_bits;
  PrefixSumKernel prefix_sum;
};

// The implementations that this CPU can run: the portable one first, the fastest last; never empty.
// Threads: any.  Defined in kernels_x86.cc, kernels_neon.cc or kernels_portable.cc.
std::span<const FilterKernels> usable_kernels() noexcept;

}  // namespace framefs::codec
