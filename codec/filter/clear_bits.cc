#include "codec/filter/clear_bits.h"

#include "codec/core/word.h"

namespace framefs::codec {
namespace {

Result<unsigned> cleared(int of_bits, std::int8_t parameter) {
  const int bits = parameter >= 0 ? of_bits - parameter : -parameter;
  if (bits < 0 || bits > of_bits) {
    return fail_value(Errc::bad_field, "filter parameter", 0, parameter);
  }
  return static_cast<unsigned>(bits);
}

}  // namespace

Result<unsigned> trunc_prec_bits(std::uint32_t typesize, std::int8_t parameter) {
  constexpr int kMantissa32 = 23;
  constexpr int kMantissa64 = 52;
  if (typesize == 4) return cleared(kMantissa32, parameter);
  if (typesize == 8) return cleared(kMantissa64, parameter);
  return fail_value(Errc::bad_field, "typesize for trunc_prec", 0, typesize);
}

Result<unsigned> int_trunc_bits(std::uint32_t typesize, std::int8_t parameter) {
  if (typesize == 1 || typesize == 2 || typesize == 4 || typesize == 8) {
    return cleared(static_cast<int>(8 * typesize), parameter);
  }
  return fail_value(Errc::bad_field, "typesize for int_trunc", 0, typesize);
}

void clear_low_bits(std::uint32_t typesize, unsigned bits, std::span<std::byte> block) {
  // The mask of one item, repeated to fill a word.
  const std::uint64_t all =
      typesize == 8 ? ~std::uint64_t{0} : (std::uint64_t{1} << (8 * typesize)) - 1;
  const std::uint64_t item = bits >= 64 ? 0 : (all >> bits) << bits;
  std::uint64_t mask = 0;
  for (std::size_t at = 0; at < sizeof(mask); at += typesize) mask |= (item & all) << (8 * at);

  std::byte* data = block.data();
  const std::size_t whole = block.size() / typesize * typesize;
  std::size_t at = 0;
  for (; whole - at >= sizeof(mask); at += sizeof(mask)) {
    store_word(data + at, load_word(data + at) & mask);
  }
  for (; at < whole; ++at) data[at] &= static_cast<std::byte>(mask >> (at % 8 * 8));
}

}  // namespace framefs::codec
