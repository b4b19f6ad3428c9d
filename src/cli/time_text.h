#pragma once

#include <optional>
#include <string_view>

namespace framefs {

// Parses a number of seconds, such as "90", "0.5" or "5s", or of minutes, hours or days: "10m",
// "2h", "1d".
std::optional<double> parse_seconds(std::string_view text);

}  // namespace framefs
