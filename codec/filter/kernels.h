#pragma once

#include <span>

#include "codec/filter/kernel_functions.h"

namespace framefs::codec {

// One implementation of the hot loops.  All give the same bytes: the first, portable one is the
// oracle the tests hold the others against.
struct FilterKernels {
  const char* name;
  UnshuffleKernel unshuffle;
  BitRowsKernel bit_rows;
  ShuffleKernel shuffle;
  SplitBitsKernel split_bits;
  PrefixSumKernel prefix_sum;
};

// The implementations this CPU can run, the portable one first, the fastest last; never empty.
// Threads: any.  Built from kernels_x86.cc or kernels_portable.cc.
std::span<const FilterKernels> usable_kernels() noexcept;

}  // namespace framefs::codec
