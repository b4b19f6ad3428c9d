#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "codec/core/error.h"
#include "fs/core/files/place.h"
#include "fs/core/threads/worker_pool.h"
#include "src/pack/pack_file.h"

namespace framefs {

// Limits of what an estimate reads.  The beginnings of the sampled files, by which their parameters
// are chosen, count a second time.
inline constexpr std::uint64_t kMaxSampledPieces = 512;
inline constexpr std::uint64_t kMaxSampledBytes = 256u << 20;
inline constexpr std::uint64_t kSampledPieceBytes = 4u << 20;

// The frames that packing would make of files.  Units: bytes.
struct PackEstimate {
  std::uint64_t files = 0;
  std::uint64_t bytes = 0;
  std::uint64_t packed_bytes = 0;
  // Two standard errors of `packed_bytes`, as if the sampled pieces were random ones.
  std::uint64_t uncertainty_bytes = 0;
  std::uint64_t sampled_files = 0;
  std::uint64_t sampled_pieces = 0;
  std::uint64_t sampled_bytes = 0;
  bool is_complete = false;  // every piece was compressed
};

// A file to be packed.
struct EstimatedFile {
  const fs::Tree* tree = nullptr;  // null: `path` is one that the user gives
  std::string path;                // in the tree
  std::uint64_t size = 0;

  [[nodiscard]] fs::Result<fs::Place> place() const;
};

// Estimates the frames that packing would make of `files`, and writes nothing.  The bytes of all
// files, one file after the other, are divided into equal stretches, and the piece of a chunk in
// the middle of each stretch is compressed as pack_file() would: large files get more samples than
// small ones, and a second run takes the same ones.  If the limits allow it, all pieces are
// compressed.
// `fail` is called for each sampled file that cannot be read; the others stand for it.
// Errors: those of encoding; EINTR if options.stop ended the work.
codec::Result<PackEstimate> estimate_packing(
    const std::vector<EstimatedFile>& files, const PackOptions& options, fs::WorkerPool& pool,
    const std::function<void(const std::string& path, const codec::Error& error)>& fail);

}  // namespace framefs
