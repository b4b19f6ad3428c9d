#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "codec/chunk/encode_trial.h"
#include "codec/compressor/stream_encoder.h"
#include "codec/core/limits.h"

namespace framefs::fs {

// What is shown of an array.
enum class ArrayViews : std::uint8_t {
  npy,   // a NumPy file, where its items are NumPy's; else its bytes
  raw,   // its bytes in C order
  both,  // one of each
};

// What a new frame is to be.  Typesize and filter are found out by trial unless they are given.
struct NewFrameOptions {
  codec::CodecId codec = codec::CodecId::zstd;
  std::optional<int> clevel;           // 0 to 9; nothing: default_level() of the codec
  std::uint32_t chunksize = 1u << 20;  // bytes
  std::uint32_t blocksize = 0;         // bytes; 0: as codec and level ask for
  std::optional<std::uint32_t> typesize;
  std::optional<codec::FilterChoice> filter;
};

// The level at which a mount encodes.  A mount encodes while a program waits for its writes: with zstd,
// level 2 takes a fifth to a tenth of the CPU time of level 5 and keeps 0.80 to 0.91 of its ratio
// (tests/bench/RESULTS.md, "The level of new files").  The other codecs are fast at the library's own
// default.
[[nodiscard]] constexpr int default_level(codec::CodecId codec) noexcept {
  return codec == codec::CodecId::zstd ? 2 : 5;
}

// New files whose name the glob matches become such frames.
struct NewFileRule {
  std::string glob;
  NewFrameOptions frame;
};

// What a mount does with what is written to it.
struct WriteOptions {
  NewFrameOptions defaults;
  std::vector<NewFileRule> rules;            // the first that matches holds
  std::vector<std::string> plain_globs;      // new files of such names are no frames
  std::uint64_t overlay_bytes = 256u << 20;  // of written data in memory
  unsigned commit_interval_ms = 5000;        // how long it may stay there only
};

// What a mount is asked to be.
struct MountOptions {
  std::filesystem::path source;
  std::filesystem::path mountpoint;
  bool onto_file = false;           // MOUNTPOINT is a regular file
  std::uint64_t source_offset = 0;  // where in a SOURCE that is one file its frame begins
  bool read_only = false;
  bool writeback = false;  // let the kernel collect what is written before it hands it over
  WriteOptions write;
  bool keep_suffix = false;  // show frames under their full names
  ArrayViews arrays = ArrayViews::npy;
  bool allow_other = false;                // let other users in; the kernel then checks modes
  bool io_uring = false;                   // take requests by it, and not by /dev/fuse
  bool sandbox = true;                     // give up what serving does not need
  bool debug = false;                      // libfuse's trace of requests, on stderr
  std::uint64_t cache_bytes = 256u << 20;  // of decoded blocks, those in flight included
  unsigned threads = 0;                    // that decode; 0: one for each CPU
  unsigned attr_timeout_ms = 1000;         // how long the kernel trusts names and attributes
  std::vector<std::string> vfs_options;    // such as noexec, for the kernel
  codec::Limits limits;
};

}  // namespace framefs::fs
