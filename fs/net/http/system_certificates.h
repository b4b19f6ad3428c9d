#pragma once

#include <filesystem>
#include <string>

namespace framefs::net {

// The file of the system's certificates if it is not at `built_in`, where libcurl looks by itself
// and the distribution that built libcurl has the file; "" if it is there, or nowhere.
// `built_in` may be null.  `root` is the folder of the system.
// Threads: any number.
std::string system_certificates(const char* built_in, const std::filesystem::path& root = "/");

}  // namespace framefs::net
