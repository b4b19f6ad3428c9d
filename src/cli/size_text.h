#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace framefs {

// Parses a number of bytes.  "64M", "64MB" and "64MiB" are the same, in upper or lower case.
std::optional<std::uint64_t> parse_size(std::string_view text);

// Formats a number as "392,680", for people.
std::string whole_number_text(std::uint64_t number);

// Formats a size as "1.5 GB", in powers of 1000, as disk sizes are usually stated.
std::string size_for_people(std::uint64_t bytes);

}  // namespace framefs
