#pragma once

#include <cstdint>
#include <filesystem>

#include "codec/chunk/encode_params.h"
#include "codec/chunk/encode_trial.h"
#include "codec/core/result.h"
#include "fs/core/worker_pool.h"

namespace framefs {

struct PackOptions {
  codec::EncodeParams encode;  // typesize and filters are settled for each file
  codec::EncodeHints hints;
  std::uint32_t chunksize = 4u << 20;
  unsigned threads = 0;  // 0: one for each CPU
  bool may_replace = false;
  bool quiet = false;
};

// What became of a file.  Units: bytes.
struct Packed {
  std::uint64_t plain = 0;
  std::uint64_t stored = 0;
};

// Packs what `from` holds ("-": what comes on standard input) into a new frame `to`, chunks in
// parallel on `pool`.  The frame is there as a whole or not at all; it has the mode and time of its
// original.  What it holds does not depend on the number of threads.
// Errors: those of reading and writing; EEXIST where `to` is there and may not be replaced.
codec::Result<Packed> pack_file(const std::filesystem::path& from, const std::filesystem::path& to,
                                const PackOptions& options, fs::WorkerPool& pool);

}  // namespace framefs
