#include "fs/inspect/frame_info.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "codec/array/dtype.h"
#include "codec/core/id_names.h"
#include "codec/frame/chunk_checksums.h"
#include "codec/frame/frame_array.h"
#include "fs/core/diagnostics/error_map.h"

namespace framefs::fs {
namespace {

using Json = nlohmann::ordered_json;

std::string named(const char* name, const char* label, std::uint8_t id) {
  return name != nullptr ? name : fmt::format("{} {}", label, id);
}

const char* splitmode_name(std::uint8_t mode) {
  constexpr const char* kNames[] = {"", "always", "never", "auto", "forward-compatible"};
  return mode < std::size(kNames) ? kNames[mode] : "";
}

void describe_array(const codec::Frame& frame, FrameInfo& info) {
  const auto& array = frame.array();
  if (!array) return;
  if (!*array) {
    info.array_damage = describe(array->error());
    return;
  }
  const auto& header = frame.header();
  const auto layout = codec::layout_of(**array, header);
  if (!layout) {
    info.array_damage = describe(layout.error());
    return;
  }
  info.array = **array;
  if (codec::is_numpy_dtype(**array)) {
    info.descr = codec::npy_dtype((*array)->dtype, header.typesize).descr;
  }
}

// Source: codec/FORMAT.md, "Frames of Python containers".
constexpr std::pair<std::string_view, const char*> kHolders[] = {
    {"vlarray", "object array"},   {"batcharray", "batch array"},  {"listarray", "list array"},
    {"b2embed", "embedded store"}, {"b2dict", "dictionary store"}, {"b2tree", "tree store"},
};

void describe_content(const codec::Frame& frame, const codec::ByteSource& source,
                      const codec::Limits& limits, FrameInfo& info) {
  info.is_recipe = frame.data_place().is_recipe();
  const auto read = frame.read_fetched(source, limits);
  if (const auto& fetched = read.value_or(std::nullopt)) {
    info.cache = {fetched->is_recorded(), fetched->count(), fetched->total()};
  }
  for (const auto& [layer, text] : kHolders) {
    if (std::ranges::find(frame.metalayers(), layer, &codec::Metalayer::name) !=
        frame.metalayers().end())
      info.holds = text;
  }
}

std::vector<FrameInfo::Layer> layers_of(const std::vector<codec::Metalayer>& layers) {
  std::vector<FrameInfo::Layer> out;
  out.reserve(layers.size());
  for (const auto& layer : layers) out.push_back({layer.name, layer.content.size});
  return out;
}

// Names and dtypes may contain any bytes; a program that reads JSON expects UTF-8.
constexpr auto kReplaceBadText = Json::error_handler_t::replace;

Json layers_json(const std::vector<FrameInfo::Layer>& layers) {
  auto list = Json::array();
  for (const auto& layer : layers) {
    list.push_back({{"name", layer.name}, {"stored_bytes", layer.stored_bytes}});
  }
  return list;
}

Json array_json(const codec::ArrayMeta& array, const std::string& descr) {
  Json out{{"shape", array.array_dims()},
           {"chunkshape", array.chunk_dims()},
           {"blockshape", array.block_dims()},
           {"dtype", array.dtype},
           {"dtype_format", array.dtype_format}};
  if (!descr.empty()) out["npy_descr"] = descr;
  return out;
}

}  // namespace

std::string codec_text(std::uint8_t id) {
  return named(codec::codec_name(id), codec::codec_label(id), id);
}

std::string filter_text(std::uint8_t id) {
  return named(codec::filter_name(id), codec::filter_label(id), id);
}

FrameInfo describe_frame(const codec::Frame& frame, const codec::ByteSource& source,
                         const codec::Limits& limits) {
  const auto& header = frame.header();
  FrameInfo info;
  const bool is_sparse = header.type == codec::FrameType::sparse;
  info.kind = is_sparse ? "sparse" : "contiguous";
  info.layout = header.layout == codec::FrameLayout::beta ? "beta" : "current";
  info.format_version = header.version;
  info.codec = codec_text(header.codec_id);
  info.codec_id = header.codec_id;
  info.codec_meta = header.codec_meta;
  info.level = header.clevel;
  info.splitmode = splitmode_name(header.splitmode);
  for (const auto& slot : header.filters) {
    if (slot.id == 0) continue;
    info.filters.push_back({filter_text(slot.id), slot.id, slot.meta});
  }
  info.use_dict = header.use_dict;
  info.typesize = header.typesize;
  info.chunksize = header.chunksize;
  info.blocksize = header.blocksize;
  info.chunk_count = frame.chunk_count();
  info.nbytes = header.nbytes;
  info.cbytes = header.cbytes;
  info.frame_len = header.frame_len;
  info.stored_bytes = header.frame_len + (is_sparse ? header.cbytes : 0);
  describe_array(frame, info);
  describe_content(frame, source, limits, info);
  info.metalayers = layers_of(frame.metalayers());
  info.vlmetalayers = layers_of(frame.vlmetalayers());
  info.has_checksums = std::erase_if(info.vlmetalayers, [](const FrameInfo::Layer& layer) {
                         return layer.name == codec::kChecksumLayer;
                       }) > 0;
  return info;
}

std::string content_text(const FrameInfo& info) {
  if (info.is_recipe) return "stored recipe: it computes values, and the frame has no data";
  if (!info.cache) return info.holds;
  if (!info.cache->is_recorded) return "cache of remote data, which does not record what is there";
  return fmt::format("cache of remote data, {} of {} blocks fetched", info.cache->fetched,
                     info.cache->blocks);
}

std::string to_json(const FrameInfo& info) {
  auto filters = Json::array();
  for (const auto& filter : info.filters) {
    filters.push_back({{"name", filter.name}, {"id", filter.id}, {"meta", filter.meta}});
  }
  Json out{{"kind", info.kind},
           {"layout", info.layout},
           {"format_version", info.format_version},
           {"codec", info.codec},
           {"codec_id", info.codec_id},
           {"codec_meta", info.codec_meta},
           {"level", info.level},
           {"splitmode", info.splitmode},
           {"filters", std::move(filters)},
           {"use_dict", info.use_dict},
           {"typesize", info.typesize},
           {"chunksize", info.chunksize},
           {"blocksize", info.blocksize},
           {"chunks", info.chunk_count},
           {"nbytes", info.nbytes},
           {"cbytes", info.cbytes},
           {"frame_len", info.frame_len},
           {"stored_bytes", info.stored_bytes},
           {"ratio", info.ratio()}};
  if (info.array) {
    out["shape"] = info.array->array_dims();
    out["dtype"] = info.array->dtype;
    out["array"] = array_json(*info.array, info.descr);
  }
  if (!info.array_damage.empty()) out["array_damage"] = info.array_damage;
  if (!info.holds.empty()) out["holds"] = info.holds;
  if (info.is_recipe) out["recipe"] = true;
  if (info.cache) {
    out["cache"] = {{"recorded", info.cache->is_recorded}};
    if (info.cache->is_recorded) {
      out["cache"]["blocks_fetched"] = info.cache->fetched;
      out["cache"]["blocks"] = info.cache->blocks;
    }
  }
  out["checksums"] = info.has_checksums;
  out["metalayers"] = layers_json(info.metalayers);
  out["vlmetalayers"] = layers_json(info.vlmetalayers);
  return out.dump(-1, ' ', false, kReplaceBadText);
}

}  // namespace framefs::fs
