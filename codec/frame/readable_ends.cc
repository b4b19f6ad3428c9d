#include "codec/frame/readable_ends.h"

#include <algorithm>
#include <array>
#include <span>
#include <string_view>
#include <utility>

#include "codec/array/array_meta.h"
#include "codec/frame/chunk_checksums.h"
#include "codec/frame/frame_trailer.h"
#include "codec/frame/metalayer_content.h"

namespace framefs::codec {
namespace {

// Also accepts a header in which only the magic was overwritten.
std::optional<FrameHeader> parse_fixed_header(std::array<std::byte, kFrameFixedHeaderBytes> head) {
  constexpr std::string_view kMagic =
      "\x9e\xa8"
      "b2frame";
  if (const auto header = parse_frame_header(head)) return *header;
  std::ranges::transform(kMagic, head.begin(), [](char c) { return static_cast<std::byte>(c); });
  head[kMagic.size()] = std::byte{0};
  const auto header = parse_frame_header(head);
  return header ? std::optional(*header) : std::nullopt;
}

}  // namespace

void add_metalayers(const ByteSource& file, std::uint64_t header_len, std::size_t map_at,
                    const Limits& limits, ReadableHead& head) {
  if (header_len <= map_at || header_len > limits.frame_header_bytes) return;
  std::vector<std::byte> whole(header_len);
  if (!file.read_at(0, whole)) return;
  const auto layers = parse_metalayers(whole, map_at, 0, kMaxMetalayers);
  if (!layers) return;
  for (const auto& layer : *layers) {
    const auto content = std::span(whole).subspan(layer.content.offset, layer.content.size);
    head.metalayers.push_back({layer.name, {content.begin(), content.end()}});
  }
  head.has_metalayers = true;
  const auto* const array = find_array_layer(*layers);
  if (array == nullptr) return;
  const auto meta =
      parse_array_meta(std::span(whole).subspan(array->content.offset, array->content.size));
  if (meta) head.context.block_shape = BlockShape{.ndim = meta->ndim, .dims = meta->blockshape};
}

ReadableHead read_head(const ByteSource& file, const Limits& limits) {
  ReadableHead head;
  std::array<std::byte, kFrameFixedHeaderBytes> fixed{};
  if (file.read_at(0, fixed)) head.fixed = parse_fixed_header(fixed);
  if (head.fixed) {
    head.may_have_vlmetalayers = may_have_vlmetalayers(fixed);
    head.context.schunk_typesize = head.fixed->typesize;
    add_metalayers(file, head.fixed->header_len, head.fixed->metalayers_at(), limits, head);
  }
  return head;
}

ReadableTail read_tail(const ByteSource& file, std::uint64_t at, std::uint64_t end,
                       const Limits& limits) {
  ReadableTail tail;
  if (end <= at) return tail;
  std::vector<std::byte> trailer(std::min(end - at, limits.frame_trailer_bytes));
  if (!file.read_at(at, trailer)) return tail;
  auto layers = parse_metalayers(trailer, kTrailerMapAt, at, kMaxVlMetalayers);
  if (!layers) return tail;
  tail.layers = std::move(*layers);
  tail.is_whole = true;
  for (const auto& layer : tail.layers) {
    if (layer.name == kChecksumLayer) continue;  // it does not count for another frame
    auto content = read_vlmetalayer(file, layer, limits);
    tail.is_whole = tail.is_whole && content;
    if (content) tail.vlmetalayers.push_back({layer.name, std::move(*content)});
  }
  return tail;
}

}  // namespace framefs::codec
