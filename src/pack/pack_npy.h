#pragma once

#include <optional>
#include <string>

#include "codec/array/npy_input.h"
#include "codec/core/byte_sink.h"
#include "fs/core/files/place.h"
#include "src/pack/pack_file.h"

namespace framefs {

bool is_npy_name(const std::string& name);

// The header of the .npy file of an array; nothing for names that do not end in ".npy", and for
// files that stay bytes.
std::optional<codec::NpyHeader> find_npy_header(const fs::Place& place);

// Packs a .npy file, open as `fd`, into the frame of an n-dimensional array.  Returns nothing, and
// writes nothing, if the file stays bytes.
// Errors: as pack_file().
codec::Result<std::optional<Packed>> pack_npy(int fd, codec::ByteSink& sink,
                                              const std::string& name, const PackOptions& options,
                                              fs::WorkerPool& pool);

}  // namespace framefs
