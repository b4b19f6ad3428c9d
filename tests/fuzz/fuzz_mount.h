#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include <spdlog/logger.h>

#include "fs/core/diagnostics/log.h"
#include "fs/core/mount_options.h"
#include "fs/tree/filesystem.h"
#include "tests/fuzz/array_checks.h"
#include "tests/fuzz/frame_checks.h"
#include "tests/support/bytes.h"
#include "tests/support/temp_directory.h"

namespace framefs::fuzz {

// Whether the result is a value.  Any error is fair but one that only a bug can cause.
template <class Result>
bool is_fair(const Result& result) {
  if (result) return true;
  demand(result.error().kind != codec::Errc::internal);
  return false;
}

// A mount without its kernel interface, of an empty folder of its own.  It has little memory, and
// small limits.
class FuzzMount {
 public:
  explicit FuzzMount(bool is_read_only) {
    fs::MountOptions options;
    options.source = folder_.path();
    options.read_only = is_read_only;
    options.verify_checksums = true;
    options.arrays = fs::ArrayViews::both;
    options.cache_bytes = kCacheBytes;
    options.write.overlay_bytes = kOverlayBytes;
    options.threads = 2;
    options.limits = small_limits();
    filesystem_ = std::move(*fs::Filesystem::open(options, log_));
  }

  static constexpr std::uint64_t kCacheBytes = 4u << 20;
  static constexpr std::uint64_t kOverlayBytes = 4u << 20;

  [[nodiscard]] const test::TempDirectory& folder() const { return folder_; }
  [[nodiscard]] fs::Filesystem& filesystem() { return *filesystem_; }

  fs::Result<test::Bytes> read(fs::OpenFile& file, std::uint64_t offset, std::uint64_t size) {
    const auto result = filesystem_->contents().read(file, offset, size);
    if (!is_fair(result)) return std::unexpected(result.error());
    test::Bytes all;
    for (const auto& span : result->spans) test::append(all, span);
    return all;
  }

  void read_attributes(fs::NodeId id) {
    auto& attributes = filesystem_->attributes();
    const auto names = attributes.xattr_names(id);
    if (!is_fair(names)) return;
    for (const auto& name : *names) is_fair(attributes.xattr(id, name));
  }

 private:
  const test::TempDirectory folder_;
  fs::Log log_{std::make_shared<spdlog::logger>("fuzz")};
  std::unique_ptr<fs::Filesystem> filesystem_;
};

}  // namespace framefs::fuzz
