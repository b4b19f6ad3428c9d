#include "fs/write/commit/kept_layers.h"

#include <algorithm>
#include <utility>

#include "codec/frame/chunk_checksums.h"
#include "codec/frame/metalayer_content.h"

namespace framefs::fs {

Result<std::vector<codec::NamedContent>> kept_metalayers(const codec::Frame& frame,
                                                         const codec::ByteSource& source) {
  const auto* const array = codec::find_array_layer(frame.metalayers());
  std::vector<codec::NamedContent> layers;
  for (const auto& layer : frame.metalayers()) {
    if (&layer == array) continue;
    FRAMEFS_TRY(auto content, codec::read_metalayer(source, layer));
    layers.push_back({layer.name, std::move(content)});
  }
  return layers;
}

Result<std::vector<codec::NamedContent>> kept_vlmetalayers(const codec::Frame& frame,
                                                           const codec::ByteSource& source,
                                                           const codec::Limits& limits) {
  std::vector<codec::NamedContent> layers;
  for (const auto& layer : frame.vlmetalayers()) {
    if (layer.name == codec::kChecksumLayer) continue;
    FRAMEFS_TRY(auto content, codec::read_vlmetalayer(source, layer, limits));
    layers.push_back({layer.name, std::move(content)});
  }
  return layers;
}

bool has_checksums(const codec::Frame& frame) {
  return std::ranges::any_of(frame.vlmetalayers(),
                             [](const auto& layer) { return layer.name == codec::kChecksumLayer; });
}

}  // namespace framefs::fs
