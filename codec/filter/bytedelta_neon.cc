#include "codec/filter/kernel_functions.h"
#include "codec/filter/vectors_neon.h"

namespace framefs::codec {

// The sums within a vector do not depend on earlier vectors, so that the dependency between vectors
// is a single addition.
void prefix_sum_neon(std::byte* data, std::size_t size) {
  const uint8x16_t zeros = vdupq_n_u8(0);
  uint8x16_t before = zeros;  // the sum of all bytes so far, in every byte
  std::size_t at = 0;
  for (; size - at >= kLanes; at += kLanes) {
    uint8x16_t v = load(data + at);
    v = vaddq_u8(v, vextq_u8(zeros, v, kLanes - 1));
    v = vaddq_u8(v, vextq_u8(zeros, v, kLanes - 2));
    v = vaddq_u8(v, vextq_u8(zeros, v, kLanes - 4));
    v = vaddq_u8(v, vextq_u8(zeros, v, kLanes - 8));
    store(data + at, vaddq_u8(v, before));
    before = vaddq_u8(before, vdupq_laneq_u8(v, kLanes - 1));
  }
  auto sum = vgetq_lane_u8(before, 0);
  for (; at < size; ++at) {
    sum = static_cast<unsigned char>(sum + static_cast<unsigned char>(data[at]));
    data[at] = static_cast<std::byte>(sum);
  }
}

}  // namespace framefs::codec
