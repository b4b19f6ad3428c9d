#pragma once

#include <cstdint>
#include <filesystem>

#include "codec/chunk/encode_params.h"
#include "codec/chunk/encode_trial.h"
#include "codec/core/result.h"
#include "fs/core/worker_pool.h"

namespace framefs {

struct PackOptions {
  codec::EncodeParams encode;  // typesize and filters are chosen for each file
  codec::EncodeHints hints;
  std::uint32_t chunksize = 4u << 20;
  unsigned threads = 0;  // 0: one for each CPU
  bool may_replace = false;
  bool quiet = false;
};

// The sizes of a packed file.  Units: bytes.
struct Packed {
  std::uint64_t plain = 0;
  std::uint64_t stored = 0;
};

// Packs `from` into a new frame `to`, with chunks encoded in parallel on `pool`.  The `from` "-" is
// standard input.  The frame appears complete or not at all, with the mode and time of its
// original.  Its bytes do not depend on the number of threads.
// Errors: those of reading and writing; EEXIST if `to` exists and may not be replaced.
codec::Result<Packed> pack_file(const std::filesystem::path& from, const std::filesystem::path& to,
                                const PackOptions& options, fs::WorkerPool& pool);

}  // namespace framefs
