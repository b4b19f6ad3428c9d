#pragma once

#include <cstdint>
#include <functional>

#include "codec/core/byte_sink.h"
#include "codec/core/result.h"
#include "fs/tree/filesystem.h"

namespace framefs {

// Copies the bytes of a file of a filesystem, of which there are `size`, to `sink`: each piece is
// written while the next is decoded, and what the file says is a hole is not written at all.  Before
// each piece `go_on` hears how far the copy has come, and may end it by returning false.
// Errors: those of reading and writing; system, EINTR where `go_on` ended it, ESTALE where the file's
// source was changed meanwhile.  What is in the sink is then unfinished.
// Memory: two pieces of 8 MiB, and what decoding them takes.
codec::Status copy_out(fs::Filesystem& files, fs::OpenFile& file, std::uint64_t size,
                       codec::ByteSink& sink, const std::function<bool(std::uint64_t)>& go_on);

}  // namespace framefs
