#include "src/cli/size_text.h"

#include <algorithm>
#include <charconv>

#include <fmt/core.h>

#include "codec/core/checked.h"

namespace framefs {

std::optional<std::uint64_t> parse_size(std::string_view text) {
  std::uint64_t size = 0;
  const auto number = std::from_chars(text.data(), text.data() + text.size(), size);
  if (number.ec != std::errc()) return std::nullopt;
  std::string unit(number.ptr, text.data() + text.size());
  const auto upper = [](char c) { return c >= 'a' ? static_cast<char>(c - 'a' + 'A') : c; };
  std::ranges::transform(unit, unit.begin(), upper);
  if (unit.empty() || unit == "B") return size;
  constexpr std::string_view kUnits = "KMGTPE";
  const auto power = kUnits.find(unit.front());
  const auto rest = std::string_view(unit).substr(1);
  if (power == std::string_view::npos || !(rest.empty() || rest == "B" || rest == "IB")) {
    return std::nullopt;
  }
  return codec::checked_mul(size, std::uint64_t{1} << 10 * (power + 1));
}

std::string whole_number_text(std::uint64_t number) {
  auto text = std::to_string(number);
  constexpr std::size_t kGroup = 3;
  for (auto at = text.size(); at > kGroup;) text.insert(at -= kGroup, ",");
  return text;
}

std::string size_for_people(std::uint64_t bytes) {
  constexpr const char* kUnits[] = {"B", "kB", "MB", "GB", "TB", "PB", "EB"};
  auto size = static_cast<double>(bytes);
  std::size_t unit = 0;
  for (; size >= 999.95 && unit + 1 < std::size(kUnits); ++unit) size /= 1000;
  return unit == 0 ? fmt::format("{} B", bytes) : fmt::format("{:.1f} {}", size, kUnits[unit]);
}

}  // namespace framefs
