#include "codec/store/store_path.h"

namespace framefs::codec {
namespace {

bool is_component(std::string_view name) noexcept {
  return !name.empty() && name.size() <= kMaxStoreNameBytes && name != "." && name != "..";
}

}  // namespace

bool is_store_path(std::string_view path) noexcept {
  if (path.size() > kMaxStorePathBytes || path.contains('\0')) return false;
  for (auto slash = path.find('/'); slash != std::string_view::npos; slash = path.find('/')) {
    if (!is_component(path.substr(0, slash))) return false;
    path.remove_prefix(slash + 1);
  }
  return is_component(path);
}

}  // namespace framefs::codec
