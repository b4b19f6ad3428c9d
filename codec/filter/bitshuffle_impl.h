#pragma once

#include <cstddef>
#include <span>

#include "codec/filter/bitshuffle.h"
#include "codec/filter/kernels.h"

namespace framefs::codec {

// bitunshuffle() on chosen kernels, so that tests reach every implementation.
void bitunshuffle_with(const FilterKernels& kernels, std::size_t typesize,
                       std::span<const std::byte> in, std::span<std::byte> out,
                       BitshuffleTail tail);

}  // namespace framefs::codec
