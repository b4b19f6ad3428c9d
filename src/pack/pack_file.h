#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "codec/chunk/encode_params.h"
#include "codec/chunk/encode_trial.h"
#include "codec/core/byte_sink.h"
#include "codec/core/result.h"
#include "codec/frame/metalayer.h"
#include "fs/core/files/place.h"
#include "fs/core/threads/worker_pool.h"
#include "src/pack/pack_input.h"

namespace framefs {

struct PackOptions {
  codec::EncodeParams encode;  // typesize and filters are chosen for each file
  codec::EncodeHints hints;
  std::uint32_t chunksize = 4u << 20;
  unsigned threads = 0;  // 0: one for each CPU
  bool may_replace = false;
  bool locking = false;    // create the lock file of a frame that is replaced
  bool verify = false;     // read the frame back before it gets its name
  bool checksums = false;  // the frame has checksums
  bool quiet = false;
  std::function<bool()> stop{};  // asked between batches; true ends the work with EINTR
};

// The metalayers of a new frame, with their contents.
struct FrameLayers {
  std::vector<codec::NamedContent> metalayers{};
  std::vector<codec::NamedContent> vlmetalayers{};
};

// The sizes of a packed file.  Units: bytes.
struct Packed {
  std::uint64_t plain = 0;
  std::uint64_t stored = 0;
};

// Packs `input` into a new frame `to`, with chunks encoded in parallel on `pool`.  A .npy file
// becomes the frame of an n-dimensional array if that frame gives back the same items, and if `to`
// may name an array.  The frame appears complete or not at all, with its original's attributes.
// Its bytes do not depend on the number of threads.
// Errors: those of reading and writing and of ReplacementFile; ESTALE if the file changed while it
// was read; EINTR if `stop` ended the work; with `verify`, those of verify_packed().
codec::Result<Packed> pack_file(PackInput& input, const fs::Place& to, const PackOptions& options,
                                fs::WorkerPool& pool);
// The same into an open stream that has the name `to`.
codec::Result<Packed> pack_to_stream(PackInput& input, int stream, const std::string& to,
                                     const PackOptions& options, fs::WorkerPool& pool);

// Packs all of `input`, which messages call `name`, into the frame of bytes in `sink`.  The next
// pieces are read while others are encoded.
// Errors: those of reading and writing; EINTR if `stop` ended the work.
codec::Result<Packed> pack_pieces(PieceSource& input, codec::ByteSink& sink,
                                  const std::string& name, const PackOptions& options,
                                  fs::WorkerPool& pool, const FrameLayers& layers = {});
// The decoded size of the chunks of such a frame: whole items.
std::uint32_t chunksize_of(const PackOptions& options);

// Returns the name of the frame for a file: "x.npy" becomes the array "x.b2nd", any other file
// "x.b2frame".
std::string packed_name(const fs::Place& file);

// Checks that the frame at `frame`, which is to have the name `to`, holds exactly the bytes of the
// file `original`; for an array, its items.  Errors: checksum if it does not; those of reading
// either.
codec::Status verify_packed(const fs::Place& frame, const std::string& to,
                            const PackInput& original, const PackOptions& options);

}  // namespace framefs
