#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "codec/array/array_layout.h"
#include "codec/array/array_meta.h"
#include "codec/array/npy_input.h"
#include "codec/chunk/encode_params.h"
#include "codec/chunk/encode_trial.h"
#include "codec/core/byte_sink.h"
#include "codec/core/units.h"
#include "codec/frame/metalayer.h"
#include "fs/core/files/file.h"
#include "fs/core/threads/worker_pool.h"

namespace framefs::fs {

// The bytes of a .npy file whose items are packed.
class ArrayItems {
 public:
  ArrayItems() = default;
  ArrayItems(const ArrayItems&) = delete;
  ArrayItems& operator=(const ArrayItems&) = delete;
  virtual ~ArrayItems() = default;

  // Called before bytes of `range` of the file are read.  Returns whether the threads of a pool may
  // read them; if not, only the thread of the caller reads them.
  virtual Result<bool> prepare(codec::ByteRange range) = 0;
  [[nodiscard]] virtual Status read_at(std::uint64_t offset, std::span<std::byte> out) const = 0;
};

// How an array is packed.
struct ArrayPacking {
  codec::EncodeParams encode;  // typesize and filters are chosen by trial
  codec::EncodeHints hints;
  std::uint32_t chunksize = 0;
  bool checksums = false;
  std::vector<codec::NamedContent> metalayers{};  // besides that of the array
  std::vector<codec::NamedContent> vlmetalayers{};
  std::size_t lanes = 1;  // chunks that are encoded at a time
};

// The shapes of an array, of its chunks and of their blocks.
struct ArrayPlan {
  std::vector<std::byte> metalayer;
  codec::ArrayMeta meta;
  codec::ArrayLayout layout;
  std::uint32_t chunk_bytes = 0;
};
// Errors: over_limit for items too large for a chunk; those of the metalayer.
Result<ArrayPlan> plan_array(const codec::NpyHeader& header, const ArrayPacking& packing);

// Packs the items of a .npy file into the frame of an n-dimensional array, with chunks encoded in
// parallel on `pool`.  Returns the size of the frame.  Its bytes do not depend on the number of
// lanes or threads.  `go_on` is called between batches with the number of bytes packed so far, and
// may end the work by returning false.
// Errors: those of reading and writing; system, with EINTR if `go_on` ended the work.
// Memory: two chunks for each lane.
Result<std::uint64_t> pack_array(ArrayItems& items, const codec::NpyHeader& header,
                                 const ArrayPlan& plan, const ArrayPacking& packing,
                                 codec::ByteSink& sink, WorkerPool& pool,
                                 const std::function<bool(std::uint64_t)>& go_on);

}  // namespace framefs::fs
