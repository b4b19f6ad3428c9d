#include "src/info/info_table.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>

#include <fmt/core.h>
#include <fmt/ranges.h>

#include "fs/core/diagnostics/error_map.h"
#include "src/cli/printable.h"
#include "src/cli/size_text.h"

namespace framefs {
namespace {

// The headings of the chunk table, from left to right.
constexpr std::array kHeads = {"chunk",   "offset", "stored",    "decoded", "codec",
                               "special", "blocks", "blocksize", "flags",   "filters"};
constexpr std::size_t kCodecColumn = 4;  // from this column on, all but numbers are left-aligned

bool is_number_column(std::size_t column) {
  return column < kCodecColumn || kHeads[column] == std::string_view("blocks") ||
         kHeads[column] == std::string_view("blocksize");
}

// Adds an aligned line.  Further lines of the same key have an empty key.
void add_line(std::string& block, std::string_view key, std::string_view value) {
  block += fmt::format("  {:<14}{}\n", key, value);
}

template <class Number>
std::string shape_text(std::span<const Number> dims) {
  return fmt::format("({}{})", fmt::join(dims, ", "), dims.size() == 1 ? "," : "");
}

std::string codec_line(const fs::FrameInfo& info) {
  auto text = info.codec;
  if (info.codec_meta != 0) text += fmt::format(" ({})", info.codec_meta);
  text += fmt::format(", level {}", info.level);
  if (!info.splitmode.empty()) text += fmt::format(", split {}", info.splitmode);
  if (info.use_dict) text += ", dictionary";
  return text;
}

std::string filter_list(const std::vector<fs::FrameInfo::Filter>& filters) {
  std::string text;
  for (const auto& filter : filters) {
    if (!text.empty()) text += ", ";
    text += filter.name;
    if (filter.meta != 0) text += fmt::format(" ({})", filter.meta);
  }
  return text.empty() ? "-" : text;
}

std::string filter_list(const codec::FilterSlots& slots) {
  std::vector<fs::FrameInfo::Filter> filters;
  for (const auto& slot : slots) {
    if (slot.id != 0) filters.push_back({fs::filter_text(slot.id), slot.id, slot.meta});
  }
  return filter_list(filters);
}

void add_array(std::string& block, const fs::FrameInfo& info) {
  if (!info.array_damage.empty()) add_line(block, "array", "damaged: " + info.array_damage);
  if (!info.array) return;
  const auto& array = *info.array;
  add_line(block, "shape", shape_text(array.array_dims()));
  add_line(block, "chunkshape", shape_text(array.chunk_dims()));
  add_line(block, "blockshape", shape_text(array.block_dims()));
  auto dtype = array.dtype.empty() ? "-" : printable(array.dtype);
  if (array.dtype_format != 0) dtype += fmt::format(" (format {})", array.dtype_format);
  add_line(block, "dtype", dtype);
  if (!info.descr.empty() && info.descr != "'" + array.dtype + "'") {
    add_line(block, "NumPy dtype", printable(info.descr));
  }
}

void add_layers(std::string& block, std::string_view key,
                const std::vector<fs::FrameInfo::Layer>& layers) {
  for (const auto& layer : layers) {
    add_line(block, key,
             fmt::format("{}: {}", printable(layer.name), size_with_bytes(layer.stored_bytes)));
    key = "";
  }
}

std::string flags_of(const codec::ChunkHeader& header, bool is_split) {
  std::vector<const char*> flags;
  if (header.memcpyed) flags.push_back("copy");
  if (is_split) flags.push_back("split");
  if (header.has_dict) flags.push_back("dict");
  if (header.vl_blocks) flags.push_back("vl");
  if (header.instrumented) flags.push_back("instr");
  return flags.empty() ? "-" : fmt::format("{}", fmt::join(flags, ","));
}

std::string or_dash(std::string text) { return text.empty() ? "-" : std::move(text); }

std::size_t digits(std::uint64_t number) { return fmt::formatted_size("{}", number); }

}  // namespace

std::string size_with_bytes(std::uint64_t bytes) {
  if (bytes < 1000) return fmt::format("{} bytes", bytes);
  return fmt::format("{} ({} bytes)", size_for_people(bytes), bytes);
}

std::string frame_block(const std::string& path, const fs::FrameInfo& info) {
  auto block = fmt::format("{}:\n", printable(path));
  add_line(block, "kind",
           fmt::format("{} frame, layout {}, format version {}", info.kind, info.layout,
                       info.format_version));
  if (const auto content = fs::content_text(info); !content.empty()) {
    add_line(block, "content", content);
  }
  add_line(block, "decoded", size_with_bytes(info.nbytes));
  add_line(block, "stored", size_with_bytes(info.stored_bytes));
  auto chunks = fmt::format("{}, {} stored", info.chunk_count, size_with_bytes(info.cbytes));
  if (info.ratio() > 0) chunks += fmt::format(", ratio {:.2f}", info.ratio());
  add_line(block, "chunks", chunks);
  add_line(block, "frame_len", size_with_bytes(info.frame_len));
  add_line(block, "chunksize", info.chunksize == 0 ? "varies" : size_with_bytes(info.chunksize));
  add_line(block, "blocksize",
           info.blocksize <= 0 ? std::to_string(info.blocksize)
                               : size_with_bytes(static_cast<std::uint64_t>(info.blocksize)));
  add_line(block, "typesize", size_with_bytes(info.typesize));
  add_line(block, "codec", codec_line(info));
  add_line(block, "filters", filter_list(info.filters));
  add_array(block, info);
  if (info.has_checksums) add_line(block, "checksums", "yes");
  add_layers(block, "metalayers", info.metalayers);
  add_layers(block, "vlmetalayers", info.vlmetalayers);
  return block;
}

ChunkTable::ChunkTable(const fs::FrameInfo& info, std::uint64_t frame_at) : frame_at_(frame_at) {
  constexpr std::size_t kChunkFileName = 14;
  constexpr std::size_t kLongestSize = 10;  // digits of the largest signed 32-bit number
  constexpr std::size_t kCodec = 8;
  const auto offset = info.kind == "sparse" ? kChunkFileName : digits(frame_at + info.frame_len);
  widths_ = {digits(info.chunk_count),
             offset,
             kLongestSize,
             kLongestSize,
             kCodec,
             0,
             0,
             kLongestSize,
             kLongestSize,
             0};
  for (std::size_t i = 0; i < widths_.size(); ++i) {
    widths_[i] = std::max(widths_[i], std::string_view(kHeads[i]).size());
  }
}

std::string ChunkTable::line(const std::vector<std::string>& cells) const {
  std::string line;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    line += is_number_column(i) ? fmt::format("  {:>{}}", cells[i], widths_[i])
                                : fmt::format("  {:<{}}", cells[i], widths_[i]);
  }
  line.resize(line.find_last_not_of(' ') + 1);
  return line;
}

std::string ChunkTable::heading() const { return line({kHeads.begin(), kHeads.end()}) + "\n"; }

std::string ChunkTable::row(const fs::ChunkInfo& chunk) const {
  auto where = chunk.file;
  if (where.empty() && chunk.offset) where = std::to_string(frame_at_ + *chunk.offset);
  std::vector<std::string> cells{std::to_string(chunk.index), or_dash(std::move(where))};
  if (const auto& header = chunk.header) {
    cells.insert(
        cells.end(),
        {std::to_string(header->cbytes), std::to_string(header->nbytes),
         or_dash(fs::chunk_codec_name(*header)), or_dash(fs::special_name(header->special)),
         std::to_string(header->nblocks), std::to_string(header->blocksize),
         flags_of(*header, chunk.is_split.value_or(false)), filter_list(header->filters)});
  } else {
    cells.resize(kHeads.size(), "-");
  }
  auto text = line(cells);
  if (chunk.is_absent) text += "  not here";
  if (chunk.error) text += "  error: " + fs::describe(*chunk.error);
  return text + "\n";
}

std::string container_heading(const std::string& path, const ContainerSummary& container) {
  auto block = fmt::format("{}:\n", printable(path));
  add_line(block, "kind", container.kind);
  add_line(block, "stored", size_with_bytes(container.stored_bytes));
  return block +
         fmt::format("  {:<8}  {:>14}  {:>14}  {}\n", "kind", "stored", "decoded", "member");
}

std::string member_row(const ContainerMember& member) {
  auto row = fmt::format("  {:<8}  {:>14}  {:>14}  {}", member.kind, member.stored_bytes,
                         member.nbytes, printable(member.path));
  if (member.error) row += "  error: " + fs::describe(*member.error);
  return row + "\n";
}

}  // namespace framefs
