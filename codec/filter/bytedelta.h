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

// The same as BytedeltaSum::whole_stream for the first `count` bytes of each stream alone.
void unbytedelta_prefix(std::size_t width, std::span<std::byte> block, std::size_t count);

// What unbytedelta() undoes as BytedeltaSum::whole_stream, in place: every byte of a stream becomes
// its difference from the one before.
void bytedelta(std::size_t width, std::span<std::byte> block);

}  // namespace framefs::codec
