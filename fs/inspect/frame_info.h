#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "codec/array/array_meta.h"
#include "codec/core/byte_source.h"
#include "codec/frame/frame.h"

namespace framefs::fs {

// The description of a frame in words and numbers, for people and for programs.
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
  std::string splitmode;        // "" if the frame does not say
  std::vector<Filter> filters;  // in the order in which they are applied
  bool use_dict = false;
  std::uint64_t typesize = 0;
  std::uint64_t chunksize = 0;  // 0 if chunks vary
  std::int64_t blocksize = 0;   // for new chunks; each chunk has its own
  std::uint64_t chunk_count = 0;
  std::uint64_t nbytes = 0;        // decoded
  std::uint64_t cbytes = 0;        // of the stored chunks, including dead ones
  std::uint64_t frame_len = 0;     // from its header to the end of its trailer
  std::uint64_t stored_bytes = 0;  // of the whole frame, including chunk files
  std::optional<codec::ArrayMeta> array;
  std::string array_damage;    // if the frame has an array: why it cannot be shown
  std::string descr;           // NumPy's name for the array's items
  bool has_checksums = false;  // they may be out of date
  // The content of the chunks, if a metalayer says that it is no plain data: "object array", ...
  std::string holds;
  bool is_recipe = false;  // it stores no data
  // Of a cache of remote data: how many of its blocks are there, if it records that.
  struct Cache {
    bool is_recorded = false;
    std::uint64_t fetched = 0;
    std::uint64_t blocks = 0;
  };
  std::optional<Cache> cache;
  std::vector<Layer> metalayers;
  std::vector<Layer> vlmetalayers;

  // The decoded size divided by the stored size of the chunks; 0 if the stored size is 0.
  [[nodiscard]] double ratio() const noexcept {
    return cbytes == 0 ? 0 : static_cast<double>(nbytes) / static_cast<double>(cbytes);
  }
};

// "lz4", "shuffle"; an id without a name is shown by kind and number: "user codec 200".
std::string codec_text(std::uint8_t id);
std::string filter_text(std::uint8_t id);

// `source` is the source that the frame was opened from.
FrameInfo describe_frame(const codec::Frame& frame, const codec::ByteSource& source,
                         const codec::Limits& limits);

// "cache of remote data, 5 of 16 blocks fetched", "object array"; empty for plain data.
std::string content_text(const FrameInfo& info);

// One JSON object: the attribute user.framefs.info, and the output of `framefs info --json`.
std::string to_json(const FrameInfo& info);

}  // namespace framefs::fs
