#pragma once

#include <string>

#include <nlohmann/json.hpp>

namespace framefs::net {

// The string `name` of an object; empty where there is none.
inline std::string text_of(const nlohmann::json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string{};
}

}  // namespace framefs::net
