#include "fs/tree/name_policy.h"

namespace framefs::fs {

std::optional<std::string_view> stripped_name(std::string_view name) {
  for (const auto suffix : kFrameSuffixes) {
    if (!name.ends_with(suffix)) continue;
    const auto rest = name.substr(0, name.size() - suffix.size());
    if (rest.empty() || rest == "." || rest == "..") return std::nullopt;
    return rest;
  }
  return std::nullopt;
}

bool is_hidden(std::string_view name) { return name.ends_with(".b2lock"); }

}  // namespace framefs::fs
