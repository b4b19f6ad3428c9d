#include "fs/source/suffixes.h"

namespace framefs::fs {

std::optional<std::string_view> stem_of(std::string_view name, std::string_view suffix) {
  if (!name.ends_with(suffix)) return std::nullopt;
  const auto stem = name.substr(0, name.size() - suffix.size());
  if (stem.empty() || stem == "." || stem == "..") return std::nullopt;
  return stem;
}

Expected expected_content(std::string_view name) {
  for (const auto& suffix : kSuffixes) {
    if (stem_of(name, suffix.text)) return suffix.content;
  }
  return Expected::nothing;
}

bool is_hidden(std::string_view name) { return name.ends_with(".b2lock"); }

}  // namespace framefs::fs
