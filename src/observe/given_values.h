#pragma once

#include <cstdint>
#include <string>

#include <nlohmann/json.hpp>

namespace framefs::given {

// The values of a daemon's statistics.  The daemon can be a program of a stranger, or of another
// version: a value that is absent, or has another type, counts as 0 or as an empty text.
using Json = nlohmann::ordered_json;

// Returns the value at a place such as "/cache/hits"; null if there is none.
inline const Json& value_at(const Json& json, const char* place) {
  static const Json kNothing;
  const Json::json_pointer pointer(place);
  return json.contains(pointer) ? json.at(pointer) : kNothing;
}

inline std::uint64_t number(const Json& value) {
  return value.is_number_unsigned() ? value.get<std::uint64_t>() : 0;
}
inline double real(const Json& value) { return value.is_number() ? value.get<double>() : 0; }
inline std::string word(const Json& value) {
  return value.is_string() ? value.get<std::string>() : std::string();
}

}  // namespace framefs::given
