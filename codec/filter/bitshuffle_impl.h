#pragma once

#include <cstddef>
#include <span>

#include "codec/filter/bitshuffle.h"
#include "codec/filter/kernels.h"

namespace framefs::codec {

// bitunshuffle() and bitshuffle() with the given kernels, so that tests reach every implementation.
void bitunshuffle_with(const FilterKernels& kernels, std::size_t typesize,
                       std::span<const std::byte> in, std::span<std::byte> out,
                       BitshuffleTail tail);

void bitshuffle_with(const FilterKernels& kernels, std::size_t typesize,
                     std::span<const std::byte> in, std::span<std::byte> out);

}  // namespace framefs::codec
