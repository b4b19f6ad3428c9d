#pragma once

#include <string>
#include <vector>

namespace framefs {

// The versions of the libraries in use, as "zstd 1.5.4".
std::vector<std::string> library_versions();

// The optional formats that this program reads or not, as "ZFP" or "without ZFP".
std::vector<std::string> format_features();

// The SIMD loops that this program uses on this CPU, as "avx2".
std::string cpu_loops();

// The text of --version: the program's version on a line of its own, then libraries and features.
std::string version_text();

}  // namespace framefs
