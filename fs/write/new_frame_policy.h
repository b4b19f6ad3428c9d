#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "codec/chunk/encode_params.h"
#include "codec/chunk/encode_trial.h"
#include "fs/core/mount_options.h"

namespace framefs::fs {

// How a frame is begun that has no data yet.
struct NewFrame {
  codec::EncodeParams encode;  // typesize and filters are settled with the first chunk, by `hints`
  codec::EncodeHints hints;
  std::uint32_t chunksize = 0;  // bytes; whole items of any typesize that may be settled on
};

// What a new file becomes, by its name.  Immutable; threads: any number.
class NewFramePolicy {
 public:
  explicit NewFramePolicy(WriteOptions options) : options_(std::move(options)) {}

  // `path` is that in the mount, without a slash at its beginning.  Nothing: a plain file.
  // Globs are those of fnmatch(3), "*" matching slashes too; those without a slash are for the file's
  // name, others for the path.
  [[nodiscard]] std::optional<NewFrame> frame_for(const std::string& path) const;

 private:
  const WriteOptions options_;
};

}  // namespace framefs::fs
