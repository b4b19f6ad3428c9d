#include "fs/tree/content/frame_attributes.h"

#include <algorithm>
#include <cerrno>
#include <span>

#include "codec/frame/chunk_checksums.h"
#include "codec/frame/metalayer_content.h"
#include "fs/inspect/frame_info.h"

namespace framefs::fs {
namespace {

const codec::Metalayer* find_layer(const std::vector<codec::Metalayer>& layers,
                                   std::string_view name) {
  const auto at = std::ranges::find(layers, name, &codec::Metalayer::name);
  return at == layers.end() ? nullptr : &*at;
}

std::vector<std::string> names_of(const std::vector<codec::Metalayer>& layers,
                                  std::string_view prefix) {
  std::vector<std::string> names;
  for (const auto& layer : layers) {
    auto name = attribute_of_layer(prefix, layer.name);
    if (!name.empty()) names.push_back(std::move(name));
  }
  return names;
}

}  // namespace

std::vector<char> attribute_value(std::span<const std::byte> bytes) {
  std::vector<char> out(bytes.size());
  std::ranges::transform(bytes, out.begin(), [](std::byte b) { return static_cast<char>(b); });
  return out;
}

bool is_shown_attribute(std::string_view name) {
  return !name.starts_with("system.") && !name.starts_with("security.");
}

std::string attribute_of_layer(std::string_view prefix, const std::string& layer) {
  if (layer.empty() || layer.find('\0') != std::string::npos) return {};
  return std::string(prefix) + layer;
}

std::vector<std::string> frame_attribute_names(const codec::Frame& frame) {
  auto names = names_of(frame.metalayers(), kMetaAttributes);
  names.insert(names.begin(), std::string(kInfoAttribute));
  return names;
}

std::vector<std::string> vlmeta_attribute_names(const codec::Frame& frame) {
  auto names = names_of(frame.vlmetalayers(), kVlmetaAttributes);
  std::erase(names, attribute_of_layer(kVlmetaAttributes, std::string(codec::kChecksumLayer)));
  return names;
}

Result<std::vector<char>> frame_attribute(const OpenedFrame& opened, std::string_view name,
                                          const codec::Limits& limits) {
  const auto& [origin, frame] = opened;
  if (name == kInfoAttribute) {
    const auto text = to_json(describe_frame(frame, *origin.source, limits));
    return std::vector<char>(text.begin(), text.end());
  }
  if (name.starts_with(kMetaAttributes)) {
    const auto* const layer = find_layer(frame.metalayers(), name.substr(kMetaAttributes.size()));
    if (layer != nullptr) {
      FRAMEFS_TRY(const auto content, codec::read_metalayer(*origin.source, *layer));
      return attribute_value(content);
    }
  }
  if (name.starts_with(kVlmetaAttributes)) {
    const auto* const layer =
        find_layer(frame.vlmetalayers(), name.substr(kVlmetaAttributes.size()));
    if (layer != nullptr && layer->name != codec::kChecksumLayer) {
      FRAMEFS_TRY(const auto content, codec::read_vlmetalayer(*origin.source, *layer, limits));
      return attribute_value(content);
    }
  }
  return system_error_of(ENODATA, "getxattr");
}

}  // namespace framefs::fs
