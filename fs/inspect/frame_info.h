#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "codec/array/array_meta.h"
#include "codec/core/byte_source.h"
#include "codec/frame/frame.h"

namespace framefs::fs {

// What a frame says of itself, in words and numbers, for people and for programs.
struct FrameInfo {
  struct Filter {
    std::string name;
    std::uint8_t id = 0;
    std::uint8_t meta = 0;
  };
  struct Layer {
    std::string name;
    std::uint64_t stored_bytes = 0;
  };

  std::string kind;    // "contiguous" or "sparse"
  std::string layout;  // "current" or "beta"
  unsigned format_version = 0;
  std::string codec;
  std::uint8_t codec_id = 0;
  std::uint8_t codec_meta = 0;
  unsigned level = 0;
  std::string splitmode;        // "" where the frame does not say
  std::vector<Filter> filters;  // in the order in which they are applied
  bool use_dict = false;
  std::uint64_t typesize = 0;
  std::uint64_t chunksize = 0;  // 0 where chunks vary
  std::int64_t blocksize = 0;   // for new chunks; each chunk has its own
  std::uint64_t chunk_count = 0;
  std::uint64_t nbytes = 0;        // decoded
  std::uint64_t cbytes = 0;        // of the chunks as they are stored, dead ones included
  std::uint64_t frame_len = 0;     // from its header to the end of its trailer
  std::uint64_t stored_bytes = 0;  // of all of the frame, chunk files included
  std::optional<codec::ArrayMeta> array;
  std::string array_damage;  // why the array cannot be shown, where the frame has one
  std::string descr;         // what NumPy calls the array's items
  std::vector<Layer> metalayers;
  std::vector<Layer> vlmetalayers;

  // How many times smaller the chunks are than what is in them; 0 where there are none.
  [[nodiscard]] double ratio() const noexcept {
    return cbytes == 0 ? 0 : static_cast<double>(nbytes) / static_cast<double>(cbytes);
  }
};

// "lz4", "shuffle"; ids without a name are told by their kind and number: "user codec 200".
std::string codec_text(std::uint8_t id);
std::string filter_text(std::uint8_t id);

FrameInfo describe_frame(const codec::Frame& frame);

// One object: the attribute user.framefs.info, and what `framefs info --json` prints of a frame.
std::string to_json(const FrameInfo& info);

}  // namespace framefs::fs
