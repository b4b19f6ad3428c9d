#include "codec/filter/bytedelta.h"

#include <cassert>

namespace framefs::codec {
namespace {

void prefix_sum(std::span<std::byte> bytes) {
  std::uint8_t sum = 0;
  for (std::byte& byte : bytes) {
    sum = static_cast<std::uint8_t>(sum + std::to_integer<std::uint8_t>(byte));
    byte = std::byte{sum};
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
  for (std::size_t j = 0; j < width; ++j) {
    const auto stream = block.subspan(j * length, length);
    prefix_sum(stream.first(head));
    prefix_sum(stream.subspan(head));
  }
}

}  // namespace framefs::codec
