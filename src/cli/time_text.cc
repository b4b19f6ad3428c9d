#include "src/cli/time_text.h"

#include <array>
#include <charconv>
#include <cmath>
#include <system_error>
#include <utility>

namespace framefs {
namespace {

constexpr std::array<std::pair<std::string_view, double>, 5> kUnits = {
    {{"", 1}, {"s", 1}, {"m", 60}, {"h", 3600}, {"d", 86400}}};

}  // namespace

std::optional<double> parse_seconds(std::string_view text) {
  double count = 0;
  const auto number = std::from_chars(text.data(), text.data() + text.size(), count);
  if (number.ec != std::errc() || !std::isfinite(count)) return std::nullopt;
  const std::string_view unit(number.ptr, text.data() + text.size());
  for (const auto& [name, seconds] : kUnits) {
    if (unit == name) return count * seconds;
  }
  return std::nullopt;
}

}  // namespace framefs
