#include "fs/source/frame_summary.h"

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <vector>

#include "codec/array/array_meta.h"
#include "codec/array/dtype.h"
#include "codec/array/npy_header.h"
#include "codec/container/zip_directory.h"
#include "codec/frame/frame_array.h"
#include "codec/frame/frame_header.h"
#include "codec/frame/frame_part.h"
#include "codec/frame/metalayer.h"
#include "fs/source/empty_frame.h"

namespace framefs::fs {
namespace {

// Reads the first `size` bytes, or as many as there are.
std::vector<std::byte> read_head(const codec::ByteSource& source, std::size_t size) {
  const auto available = source.available_from(0);
  std::vector<std::byte> head(available ? std::min<std::uint64_t>(size, *available) : 0);
  if (!source.read_at(0, head)) head.clear();
  return head;
}

// An archive begins with a member, or is empty, or follows other bytes.  Source: container format,
// "Archives".
bool is_zip(const codec::ByteSource& source) {
  constexpr std::array kMember = {std::byte{'P'}, std::byte{'K'}, std::byte{3}, std::byte{4}};
  constexpr std::array kEmpty = {std::byte{'P'}, std::byte{'K'}, std::byte{5}, std::byte{6}};
  const auto head = read_head(source, kMember.size());
  return std::ranges::equal(head, kMember) || std::ranges::equal(head, kEmpty) ||
         codec::is_archive_behind_bytes(source);
}

void summarise_array(std::span<const std::byte> content, const codec::FrameHeader& header,
                     FrameSummary& summary) {
  const auto meta = codec::parse_array_meta(content);
  if (!meta) return;
  const auto layout = codec::layout_of(*meta, header);
  if (!layout) return;
  summary.array_bytes = layout->nbytes();
  summary.is_numpy = codec::is_numpy_dtype(*meta);
  if (summary.is_numpy) summary.npy_bytes = codec::npy_header(*meta, header.typesize).size();
}

// Reads the metalayers of a frame, for names that imply a content.
void summarise_metalayers(const codec::ByteSource& source, const codec::FrameHeader& header,
                          Expected expected, const codec::Limits& limits, FrameSummary& summary) {
  if (header.header_len > limits.frame_header_bytes) return;
  const auto whole = codec::FramePart::read(source, 0, header.header_len);
  if (!whole) return;
  const auto layers =
      codec::parse_metalayers(*whole, header.metalayers_at(), 0, codec::kMaxMetalayers);
  if (!layers) return;
  if (expected == Expected::embed_container) {
    constexpr std::array<std::string_view, 3> kContainerNames = {"b2embed", "b2dict", "b2tree"};
    const bool is_container = std::ranges::any_of(*layers, [&](const codec::Metalayer& layer) {
      return std::ranges::find(kContainerNames, layer.name) != kContainerNames.end();
    });
    if (is_container) summary.content = Content::embed_container;
    return;
  }
  if (const auto* const layer = codec::find_array_layer(*layers)) {
    const auto [at, size] = layer->content;
    // If the array is damaged, its readers get the error.
    summary.content = Content::array;
    summary.array_bytes = header.nbytes;
    if (size > limits.array_meta_bytes) return;
    std::vector<std::byte> content(size);
    if (whole->read_at(at, content)) summarise_array(content, header, summary);
  }
}

}  // namespace

FrameSummary summarise(const codec::ByteSource& source, Expected expected,
                       const codec::Limits& limits) {
  if (expected == Expected::nothing) return {};
  if (expected == Expected::zip_container) {
    return {.content = is_zip(source) ? Content::zip_container : Content::other};
  }
  const auto size = source.available_from(0);
  if (expected == Expected::frame && size && *size == 0) {
    return summarise(*empty_frame(), expected, limits);
  }
  const auto head = read_head(source, codec::kFrameFixedHeaderBytes);
  if (!codec::has_frame_magic(head)) return {};
  FrameSummary summary{.content = Content::frame};
  const auto header = codec::parse_frame_header(head);
  if (!header) return summary;
  summary.is_sparse = header->type == codec::FrameType::sparse;
  summary.nbytes = header->nbytes;
  summary.chunksize = header->chunksize;
  if (summary.is_sparse) summary.stored_bytes = header->frame_len + header->cbytes;
  if (expected != Expected::frame) {
    summarise_metalayers(source, *header, expected, limits, summary);
  }
  return summary;
}

}  // namespace framefs::fs
