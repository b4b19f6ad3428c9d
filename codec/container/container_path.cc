#include "codec/container/container_path.h"

namespace framefs::codec {
namespace {

bool is_component(std::string_view name) noexcept {
  return !name.empty() && name.size() <= kMaxContainerNameBytes && name != "." && name != "..";
}

}  // namespace

bool is_container_path(std::string_view path) noexcept {
  if (path.size() > kMaxContainerPathBytes || path.contains('\0')) return false;
  for (auto slash = path.find('/'); slash != std::string_view::npos; slash = path.find('/')) {
    if (!is_component(path.substr(0, slash))) return false;
    path.remove_prefix(slash + 1);
  }
  return is_component(path);
}

std::string without_dots(std::string_view path) {
  std::string clean;
  while (true) {
    const auto slash = path.find('/');
    if (slash == std::string_view::npos) return clean.append(path);
    const auto component = path.substr(0, slash + 1);
    if (component != "./") clean.append(component);
    path.remove_prefix(slash + 1);
  }
}

}  // namespace framefs::codec
