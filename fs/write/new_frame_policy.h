#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "codec/chunk/encode_params.h"
#include "codec/chunk/encode_trial.h"
#include "fs/core/mount_options.h"

namespace framefs::fs {

// The parameters of a frame that has no data yet.
struct NewFrame {
  codec::EncodeParams encode;  // the first chunk and `hints` determine typesize and filters
  codec::EncodeHints hints;
  std::uint32_t chunksize = 0;  // bytes; whole items of any typesize that may be chosen
  bool checksums = false;
  bool arrays = false;  // the frame becomes an array if it holds a .npy file
};

// Decides by the name of a new file whether it becomes a frame.  Immutable; threads: any number.
class NewFramePolicy {
 public:
  explicit NewFramePolicy(WriteOptions options) : options_(std::move(options)) {}

  // `path` is relative to the mount, without a leading slash.  Returns nothing for a plain file.
  // Globs are those of path_glob.h.
  [[nodiscard]] std::optional<NewFrame> frame_for(const std::string& path) const;

  // Whether any file becomes an array.
  [[nodiscard]] bool makes_arrays() const;

 private:
  const WriteOptions options_;
};

}  // namespace framefs::fs
