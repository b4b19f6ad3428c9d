#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace framefs {

// A number of bytes: "64M", "64MB" and "64MiB" alike, in upper or lower case.
std::optional<std::uint64_t> parse_size(std::string_view text);

// "1.5 GB", in powers of 1000, as disks are sold and progress is read.
std::string size_for_people(std::uint64_t bytes);

}  // namespace framefs
