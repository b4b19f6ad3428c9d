#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "codec/core/limits.h"

namespace framefs::fs {

// What a mount is asked to be.
struct MountOptions {
  std::filesystem::path source;
  std::filesystem::path mountpoint;
  bool keep_suffix = false;                // show frames under their full names
  bool allow_other = false;                // let other users in; the kernel then checks modes
  bool debug = false;                      // libfuse's trace of requests, on stderr
  std::uint64_t cache_bytes = 256u << 20;  // of decoded blocks, those in flight included
  unsigned threads = 0;                    // that decode; 0: one for each CPU
  unsigned attr_timeout_ms = 1000;         // how long the kernel trusts names and attributes
  std::vector<std::string> vfs_options;    // such as noexec, for the kernel
  codec::Limits limits;
};

}  // namespace framefs::fs
