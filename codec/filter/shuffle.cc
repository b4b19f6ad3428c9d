#include "codec/filter/shuffle.h"

#include <algorithm>
#include <cassert>

#include "codec/filter/kernels.h"

namespace framefs::codec {
namespace {

// Rows are passed by value in this file.  Written bytes might alias the members behind a reference,
// which would prevent vectorisation.

// A width known at compile time lets the compiler unroll the element and, if the CPU has
// interleaving stores, vectorise.
template <std::size_t kWidth>
void interleave(ByteRows planes, std::byte* out) {
  for (std::size_t i = 0; i < planes.size; ++i) {
    for (std::size_t j = 0; j < kWidth; ++j) {
      out[i * kWidth + j] = planes.data[j * planes.stride + i];
    }
  }
}

// The elements of one pass are few enough that the cache lines they fill stay cached for all
// planes.
void interleave_any(std::size_t width, ByteRows planes, std::byte* out, std::size_t pitch) {
  constexpr std::size_t kElements = 64;
  for (std::size_t first = 0; first < planes.size; first += kElements) {
    const std::size_t last = first + std::min(kElements, planes.size - first);
    for (std::size_t j = 0; j < width; ++j) {
      const std::byte* plane = planes.data + j * planes.stride;
      for (std::size_t i = first; i < last; ++i) out[i * pitch + j] = plane[i];
    }
  }
}

// The inverse.
template <std::size_t kWidth>
void deal(const std::byte* in, std::size_t pitch, WritableByteRows planes) {
  for (std::size_t i = 0; i < planes.size; ++i) {
    for (std::size_t j = 0; j < kWidth; ++j) {
      planes.data[j * planes.stride + i] = in[i * pitch + j];
    }
  }
}

void deal_any(std::size_t width, const std::byte* in, std::size_t pitch, WritableByteRows planes) {
  constexpr std::size_t kElements = 64;
  for (std::size_t first = 0; first < planes.size; first += kElements) {
    const std::size_t last = first + std::min(kElements, planes.size - first);
    for (std::size_t j = 0; j < width; ++j) {
      std::byte* plane = planes.data + j * planes.stride;
      for (std::size_t i = first; i < last; ++i) plane[i] = in[i * pitch + j];
    }
  }
}

}  // namespace

void unshuffle_scalar(std::size_t width, const ByteRows& planes, std::byte* out,
                      std::size_t pitch) {
  if (pitch != width) return interleave_any(width, planes, out, pitch);
  switch (width) {
    case 1:
      std::copy_n(planes.data, planes.size, out);
      return;
    case 2:
      return interleave<2>(planes, out);
    case 4:
      return interleave<4>(planes, out);
    case 8:
      return interleave<8>(planes, out);
    default:
      return interleave_any(width, planes, out, pitch);
  }
}

void shuffle_scalar(std::size_t width, const std::byte* in, std::size_t pitch,
                    const WritableByteRows& planes) {
  switch (width) {
    case 2:
      return deal<2>(in, pitch, planes);
    case 4:
      return deal<4>(in, pitch, planes);
    case 8:
      return deal<8>(in, pitch, planes);
    default:
      return deal_any(width, in, pitch, planes);
  }
}

void unshuffle(std::size_t width, std::span<const std::byte> in, std::span<std::byte> out) {
  assert(width > 0 && in.size() == out.size());
  const std::size_t elements = in.size() / width;
  if (elements > 0) {
    usable_kernels().back().unshuffle(width, ByteRows{in.data(), elements, elements}, out.data(),
                                      width);
  }
  const std::size_t done = elements * width;
  std::copy_n(in.data() + done, in.size() - done, out.data() + done);
}

void unshuffle_elements(std::size_t width, std::span<const std::byte> in, std::span<std::byte> out,
                        std::size_t first, std::size_t count) {
  const std::size_t elements = in.size() / width;
  assert(width > 0 && in.size() == out.size() && first <= elements && count <= elements - first);
  if (count == 0) return;
  usable_kernels().back().unshuffle(width, ByteRows{in.data() + first, elements, count},
                                    out.data() + first * width, width);
}

void shuffle(std::size_t width, std::span<const std::byte> in, std::span<std::byte> out) {
  assert(width > 0 && in.size() == out.size());
  const std::size_t elements = in.size() / width;
  if (elements > 0) {
    usable_kernels().back().shuffle(width, in.data(), width,
                                    WritableByteRows{out.data(), elements, elements});
  }
  const std::size_t done = elements * width;
  std::copy_n(in.data() + done, in.size() - done, out.data() + done);
}

}  // namespace framefs::codec
