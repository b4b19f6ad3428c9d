#include "src/pack/packed_already.h"

#include <filesystem>
#include <variant>

#include "fs/source/named_source.h"
#include "fs/source/suffixes.h"
#include "src/cli/collected_log.h"

namespace framefs {

bool is_packed_already(const std::string& path) {
  const auto name = std::filesystem::path(path).filename().string();
  if (fs::expected_content(name) == fs::Expected::nothing) return false;
  CollectedLog log;
  const auto named = fs::open_named_source(path, 0, {}, log.log());
  if (!named) return false;
  const auto* const origin = std::get_if<fs::FrameOrigin>(&named->found);
  return origin == nullptr || fs::open_frame_at(*origin, {});
}

bool is_packed_entry(const TreeEntry& entry) {
  return entry.is_sparse_frame || fs::expected_content(entry.place.name()) != fs::Expected::nothing;
}

}  // namespace framefs
