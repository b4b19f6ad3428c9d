#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace framefs::codec {

// The two versions of bytedelta.  Source: codec/ERRATA.md, "bytedelta 34".
enum class BytedeltaSum : std::uint8_t {
  whole_stream,  // id 35
  // Id 34, as written with SIMD: the sum restarts at the bytes of a stream that do not fill a
  // vector of 16.  Writers without SIMD, which are rare, did not restart it, and the file does not
  // tell.
  anew_after_vectors,
};

// Reverses bytedelta in place.  The block is `width` streams of equal length; each byte of a stream
// becomes the sum of the stream's bytes up to it.  Bytes after the last stream stay unchanged.
// width > 0, and may exceed the block's size.  Threads: any.  Source: codec/FORMAT.md, "Filters".
void unbytedelta(std::size_t width, std::span<std::byte> block, BytedeltaSum sum);

// The same with BytedeltaSum::whole_stream, for only the first `count` bytes of each stream.
void unbytedelta_prefix(std::size_t width, std::span<std::byte> block, std::size_t count);

// The inverse of unbytedelta() with BytedeltaSum::whole_stream, in place: each byte of a stream
// becomes its difference from the byte before it.
void bytedelta(std::size_t width, std::span<std::byte> block);

}  // namespace framefs::codec
