#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace framefs::codec {

// The two filters of the name.  Source: codec/ERRATA.md, "bytedelta 34".
enum class BytedeltaSum : std::uint8_t {
  whole_stream,  // id 35
  // Id 34, as written with SIMD: the sum begins anew with the bytes of a stream that fill no vector
  // of 16.  Writers without SIMD did not do so, and the file does not tell; they are few.
  anew_after_vectors,
};

// Undoes bytedelta, in place: the block is `width` streams of equal length, of each of which every
// byte becomes the sum of the bytes up to it; the bytes left over are as they were.
// width > 0, and may exceed the block's size.  Threads: any.  Source: codec/FORMAT.md, "Filters".
void unbytedelta(std::size_t width, std::span<std::byte> block, BytedeltaSum sum);

}  // namespace framefs::codec
