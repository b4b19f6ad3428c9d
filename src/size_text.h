#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <CLI/CLI.hpp>

namespace framefs {

// A number of bytes: "64M", "64MB" and "64MiB" alike, in upper or lower case.
std::optional<std::uint64_t> parse_size(std::string_view text);

// For options that take one.  CLI11's own conversion takes "-1" and "M" for sizes, and what passes 64
// bits.
CLI::Validator size_text();

// "1.5 GB", in powers of 1000, as disks are sold and progress is read.
std::string size_for_people(std::uint64_t bytes);

}  // namespace framefs
