#include "src/cli/frame_options.h"

#include <fmt/core.h>

#include "codec/chunk/codec_names.h"
#include "codec/core/limits.h"
#include "src/cli/arguments.h"

namespace framefs {
namespace {

template <class Value, class Target>
void set_if_given(const std::optional<Value>& value, Target& to) {
  if (value) to = *value;
}

}  // namespace

void FrameOptions::apply_to(fs::NewFrameOptions& frame) const {
  set_if_given(codec, frame.codec);
  set_if_given(level, frame.clevel);
  set_if_given(filter, frame.filter);
  set_if_given(typesize, frame.typesize);
  set_if_given(chunk_size, frame.chunksize);
  set_if_given(block_size, frame.blocksize);
  set_if_given(checksums, frame.checksums);
}

void add_frame_options(CLI::App& app, FrameOptions& options, const FrameDefaults& defaults) {
  add_choice(app, "--codec", "The codec of new frames", codec::kCodecWords, options.codec)
      ->default_str("zstd");
  app.add_option("--level", options.level, "From 0 (stored uncompressed) to 9")
      ->check(whole_number(0, 9))
      ->option_text("N")
      ->default_str(defaults.level);
  app.add_option("--typesize", options.typesize,
                 "The number of bytes in an item; chosen by trial by default")
      ->check(whole_number(1, FrameOptions::kLargestTypesize))
      ->option_text("N");
  add_choice(app, "--filter", "The filter; chosen by trial by default", codec::kFilterWords,
             options.filter);
  app.add_option("--chunk-size", options.chunk_size,
                 "The decoded size of a chunk, such as 512K or 4M")
      ->transform(size_text(1, codec::kMaxChunkBytes))
      ->option_text("SIZE")
      ->default_str(defaults.chunk_size);
  app.add_option("--block-size", options.block_size,
                 "The decoded size of a block; depends on codec and level by default")
      ->transform(size_text(1, codec::kMaxBlockBytes))
      ->option_text("SIZE");
  app.add_flag("--checksums", options.checksums,
               "Store a checksum of each chunk, by which framefs check finds every damaged byte");
}

std::optional<std::string> items_without_room(std::optional<std::uint32_t> typesize,
                                              std::uint32_t chunk_size) {
  if (typesize.value_or(1) <= chunk_size) return std::nullopt;
  return fmt::format("a chunk of {} bytes holds no item of {}", chunk_size, *typesize);
}

}  // namespace framefs
