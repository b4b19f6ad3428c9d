#include "src/info/info_json.h"

#include <nlohmann/json.hpp>

#include "fs/core/diagnostics/error_map.h"

namespace framefs {
namespace {

using Json = nlohmann::ordered_json;

std::string dump(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Json filters_json(const codec::FilterSlots& slots) {
  auto list = Json::array();
  for (const auto& slot : slots) {
    if (slot.id == 0) continue;
    list.push_back({{"name", fs::filter_text(slot.id)}, {"id", slot.id}, {"meta", slot.meta}});
  }
  return list;
}

// Empty text becomes null.
Json word(const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); }

}  // namespace

std::string frame_json(const std::string& path, const fs::FrameInfo& info) {
  Json out{{"path", path}};
  out.update(Json::parse(fs::to_json(info)));
  return dump(out);
}

std::string error_json(const std::string& path, const std::string& error) {
  return dump({{"path", path}, {"error", error}});
}

std::string container_json(const std::string& path, const ContainerSummary& container) {
  return dump({{"path", path}, {"kind", container.kind}, {"stored_bytes", container.stored_bytes}});
}

std::string chunk_json(const fs::ChunkInfo& chunk, std::uint64_t frame_at) {
  Json out{{"index", chunk.index}};
  out["offset"] = chunk.offset ? Json(*chunk.offset + frame_at) : Json(nullptr);
  if (!chunk.file.empty()) out["file"] = chunk.file;
  if (chunk.is_absent) out["absent"] = true;
  if (const auto& header = chunk.header) {
    out["cbytes"] = header->cbytes;
    out["nbytes"] = header->nbytes;
    out["codec"] = word(fs::chunk_codec_name(*header));
    out["filters"] = filters_json(header->filters);
    out["special"] = word(fs::special_name(header->special));
    out["blocks"] = header->nblocks;
    out["blocksize"] = header->blocksize;
    out["typesize"] = header->typesize;
    out["version"] = header->version;
    out["memcpyed"] = header->memcpyed;
    out["split"] = chunk.is_split ? Json(*chunk.is_split) : Json(nullptr);
    out["dict"] = header->has_dict;
    out["vl_blocks"] = header->vl_blocks;
    out["instrumented"] = header->instrumented;
  }
  if (chunk.error) out["error"] = fs::describe(*chunk.error);
  return dump(out);
}

std::string member_json(const ContainerMember& member) {
  Json out{{"path", member.path},
           {"kind", member.kind},
           {"stored_bytes", member.stored_bytes},
           {"nbytes", member.nbytes}};
  if (member.error) out["error"] = fs::describe(*member.error);
  return dump(out);
}

std::string open_list(std::string object, const std::string& name) {
  object.pop_back();
  return object + ",\"" + name + "\":[\n";
}

}  // namespace framefs
