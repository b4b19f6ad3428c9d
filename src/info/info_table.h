#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "fs/inspect/chunk_info.h"
#include "fs/inspect/frame_info.h"
#include "src/info/container_listing.h"

namespace framefs {

// The text output of `framefs info`: one line for each item, each line with a newline.

// Formats a size as "832 bytes" or "1.5 kB (1500 bytes)".
std::string size_with_bytes(std::uint64_t bytes);

// The path of a frame, and below it one line for each known property.
std::string frame_block(const std::string& path, const fs::FrameInfo& info);

// A table with a row for each chunk of a frame.
class ChunkTable {
 public:
  // A column is as wide as the widest entry that is possible in this frame.
  explicit ChunkTable(const fs::FrameInfo& info, std::uint64_t frame_at);

  [[nodiscard]] std::string heading() const;
  // An error of the chunk follows the known properties.
  [[nodiscard]] std::string row(const fs::ChunkInfo& chunk) const;

 private:
  [[nodiscard]] std::string line(const std::vector<std::string>& cells) const;

  const std::uint64_t frame_at_;  // where the frame begins in its file
  std::vector<std::size_t> widths_;
};

// The members of a container: a heading with the container's path, and a row for each member.
std::string container_heading(const std::string& path, const ContainerSummary& container);
std::string member_row(const ContainerMember& member);

}  // namespace framefs
