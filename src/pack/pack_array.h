#pragma once

#include <string>

#include "codec/core/byte_sink.h"
#include "src/pack/npy_input.h"
#include "src/pack/pack_file.h"

namespace framefs {

// Packs the items of a .npy file, open as `fd`, into the frame of an n-dimensional array, with
// chunks encoded in parallel on `pool`.
// Errors: as pack_file().
codec::Result<Packed> pack_array(int fd, const NpyHeader& header, codec::ByteSink& sink,
                                 const std::string& name, const PackOptions& options,
                                 fs::WorkerPool& pool);

}  // namespace framefs
