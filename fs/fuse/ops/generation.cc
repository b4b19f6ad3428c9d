#include "fs/fuse/ops/generation.h"

#include <random>

namespace framefs::fuse {

std::uint32_t new_generation() {
  std::random_device random;
  return std::uniform_int_distribution<std::uint32_t>(1)(random);
}

}  // namespace framefs::fuse
