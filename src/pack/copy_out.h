#pragma once

#include <cstdint>
#include <functional>

#include "codec/core/byte_sink.h"
#include "codec/core/result.h"
#include "src/shown/shown_tree.h"

namespace framefs {

// Copies a file of a tree to `sink`.  Each piece is written while the
// next is decoded, and holes of the file are not written.  Before each piece, `go_on` is called
// with the offset of that piece, and may end the copy by returning false.
// Errors: those of reading and writing; system, with EINTR if `go_on` ended the copy, ESTALE if the
// source of the file changed meanwhile.  The content of `sink` is incomplete after an error.
// Memory: two pieces of 8 MiB, and the memory for decoding them.
codec::Status copy_out(ShownFile& file, codec::ByteSink& sink,
                       const std::function<bool(std::uint64_t)>& go_on);

}  // namespace framefs
