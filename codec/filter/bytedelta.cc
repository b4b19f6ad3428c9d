#include "codec/filter/bytedelta.h"

#include <cassert>
#include <cstdint>

#include "codec/core/word.h"
#include "codec/filter/kernels.h"

namespace framefs::codec {

// Processes eight bytes at a time.  The even and the odd bytes are in 16-bit lanes that their sums
// cannot overflow, so that one multiplication adds up all lower lanes.  A running sum in every lane
// keeps the dependency between words at two operations.
void prefix_sum_scalar(std::byte* data, std::size_t size) {
  constexpr std::uint64_t kEveryLane = 0x0001000100010001;
  constexpr std::uint64_t kLowBytes = 0xff * kEveryLane;
  std::uint64_t before = 0;
  std::size_t at = 0;
  for (; size - at >= sizeof(before); at += sizeof(before)) {
    const std::uint64_t word = load_word(data + at);
    const std::uint64_t even = (word & kLowBytes) * kEveryLane;
    const std::uint64_t odd = (word >> 8 & kLowBytes) * kEveryLane;
    const std::uint64_t to_even = even + (odd << 16);
    const std::uint64_t to_odd = even + odd;
    store_word(data + at, ((to_even + before) & kLowBytes) | ((to_odd + before) & kLowBytes) << 8);
    before = (before + (to_odd >> 48) * kEveryLane) & kLowBytes;
  }
  auto sum = static_cast<std::uint8_t>(before);
  for (; at < size; ++at) {
    sum = static_cast<std::uint8_t>(sum + std::to_integer<std::uint8_t>(data[at]));
    data[at] = std::byte{sum};
  }
}

namespace {

// Replaces each byte with its difference from the byte before it.  The loop runs backwards, so that
// it reads bytes before they are overwritten.  It processes eight bytes at a time, without borrows
// between them.
void differences(std::byte* data, std::size_t size) {
  constexpr std::uint64_t kTopBits = 0x8080808080808080;
  std::size_t at = size;
  while (at > sizeof(std::uint64_t)) {
    at -= sizeof(std::uint64_t);
    const std::uint64_t word = load_word(data + at);
    const std::uint64_t before = load_word(data + at - 1);
    store_word(data + at,
               ((word | kTopBits) - (before & ~kTopBits)) ^ ((word ^ ~before) & kTopBits));
  }
  for (; at > 1; --at) {
    data[at - 1] = static_cast<std::byte>(std::to_integer<int>(data[at - 1]) -
                                          std::to_integer<int>(data[at - 2]));
  }
}

}  // namespace

void unbytedelta(std::size_t width, std::span<std::byte> block, BytedeltaSum sum) {
  assert(width > 0);
  constexpr std::size_t kVector = 16;
  const std::size_t length = block.size() / width;
  const std::size_t head =
      sum == BytedeltaSum::anew_after_vectors ? length / kVector * kVector : length;
  if (length == 0) return;
  const auto prefix_sum = usable_kernels().back().prefix_sum;
  for (std::size_t j = 0; j < width; ++j) {
    std::byte* stream = block.data() + j * length;
    prefix_sum(stream, head);
    prefix_sum(stream + head, length - head);
  }
}

void unbytedelta_prefix(std::size_t width, std::span<std::byte> block, std::size_t count) {
  const std::size_t length = block.size() / width;
  assert(width > 0 && count <= length);
  const auto prefix_sum = usable_kernels().back().prefix_sum;
  for (std::size_t j = 0; j < width; ++j) prefix_sum(block.data() + j * length, count);
}

void bytedelta(std::size_t width, std::span<std::byte> block) {
  assert(width > 0);
  const std::size_t length = block.size() / width;
  if (length == 0) return;
  for (std::size_t j = 0; j < width; ++j) differences(block.data() + j * length, length);
}

}  // namespace framefs::codec
