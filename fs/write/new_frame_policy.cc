#include "fs/write/new_frame_policy.h"

#include <algorithm>

#include "fs/source/path_glob.h"

namespace framefs::fs {
namespace {

NewFrame begin(const NewFrameOptions& options, const std::string& path) {
  NewFrame frame;
  frame.encode.codec = options.codec;
  frame.encode.clevel = options.clevel.value_or(default_level(options.codec));
  frame.encode.blocksize = options.blocksize;
  frame.encode.typesize = options.typesize.value_or(1);
  if (options.filter) frame.encode.filters = codec::slots_of(*options.filter);
  frame.hints = {.typesize = options.typesize, .filter = options.filter};
  // The largest typesize that framefs tries is 8.
  const std::uint32_t item = options.typesize.value_or(8);
  frame.chunksize = std::max(options.chunksize / item * item, item);
  frame.checksums = options.checksums;
  frame.arrays = options.arrays && path.ends_with(".npy");
  return frame;
}

}  // namespace

std::optional<NewFrame> NewFramePolicy::frame_for(const std::string& path) const {
  const auto covers = [&](const std::string& glob) { return matches_glob(glob, path); };
  if (std::ranges::any_of(options_.plain_globs, covers)) return std::nullopt;
  const auto rule = std::ranges::find_if(options_.rules, covers, &NewFileRule::glob);
  return begin(rule == options_.rules.end() ? options_.defaults : rule->frame, path);
}

bool NewFramePolicy::makes_arrays() const {
  return options_.defaults.arrays ||
         std::ranges::any_of(options_.rules, [](const auto& rule) { return rule.frame.arrays; });
}

}  // namespace framefs::fs
