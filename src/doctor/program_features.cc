#include "src/doctor/program_features.h"

#include <string_view>

#include <fmt/core.h>
#include <fmt/ranges.h>

#include "codec/compressor/lz4.h"
#include "codec/compressor/zfp.h"
#include "codec/compressor/zlib.h"
#include "codec/compressor/zstd.h"
#include "codec/filter/kernels.h"
#include "fs/fuse/confine/sandbox.h"
#include "fs/fuse/session/session.h"
#include "fs/net/network_files.h"
#include "src/cli/version.h"

namespace framefs {

std::vector<std::string> library_versions() {
  std::vector<std::string> versions = {"libfuse " + fuse::libfuse_support().version,
                                       std::string("zstd ") + codec::zstd_version(),
                                       std::string("lz4 ") + codec::lz4_version(),
                                       std::string("libdeflate ") + codec::libdeflate_version(),
                                       "libcurl " + net::libcurl_version()};
  if (codec::has_zfp()) versions.push_back(std::string("zfp ") + codec::zfp_version());
  const auto libseccomp = fuse::sandbox_support().libseccomp;
  if (!libseccomp.empty()) versions.push_back("libseccomp " + libseccomp);
  return versions;
}

// Snappy's decoder is part of the codec.
std::vector<std::string> format_features() {
  return {codec::has_zfp() ? "ZFP" : "without ZFP", "Snappy"};
}

std::string cpu_loops() { return codec::usable_kernels().back().name; }

std::string version_text() {
  auto features = format_features();
  features.emplace_back(fuse::has_sandbox() ? "sandbox" : "without a sandbox");
  features.emplace_back(fuse::libfuse_support().passthrough ? "passthrough"
                                                            : "without passthrough");
  return fmt::format("framefs {}\nlibraries: {}\nfeatures: {}; loops for {}", kVersion,
                     fmt::join(library_versions(), ", "), fmt::join(features, ", "), cpu_loops());
}

}  // namespace framefs
