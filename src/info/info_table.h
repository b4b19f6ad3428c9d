#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "fs/inspect/chunk_info.h"
#include "fs/inspect/frame_info.h"
#include "src/info/container_listing.h"

namespace framefs {

// What `framefs info` says to people: text, a line for each thing, each ended by a newline.

// Text from a stranger's file as a terminal can take it: control characters become \x1b and the like.
std::string printable(std::string_view text);

// "832 bytes", "1.5 kB (1500 bytes)".
std::string size_with_bytes(std::uint64_t bytes);

// A block of one line for each thing that is known of a frame, below its path.
std::string frame_block(const std::string& path, const fs::FrameInfo& info);

// The chunks of a frame, a row for each.
class ChunkTable {
 public:
  // Columns are as wide as the widest entry that such a frame can have.
  explicit ChunkTable(const fs::FrameInfo& info, std::uint64_t frame_at);

  [[nodiscard]] std::string heading() const;
  // Behind what is known of the chunk stands what is wrong with it.
  [[nodiscard]] std::string row(const fs::ChunkInfo& chunk) const;

 private:
  [[nodiscard]] std::string line(const std::vector<std::string>& cells) const;

  const std::uint64_t frame_at_;  // in the file
  std::vector<std::size_t> widths_;
};

// The members of a container: a heading with the path of the container's directory, and a row for each.
std::string container_heading(const std::string& path, const ContainerSummary& container);
std::string member_row(const ContainerMember& member);

}  // namespace framefs
