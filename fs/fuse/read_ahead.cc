#include "fs/fuse/read_ahead.h"

#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <fstream>

#include <fmt/core.h>

namespace framefs::fuse {
namespace {

// Sequential reads then arrive as requests of the largest size, several at a time, so that many
// blocks are decoded in parallel.
constexpr int kReadAheadKib = 4096;

}  // namespace

void raise_read_ahead(const std::filesystem::path& mountpoint, fs::Log& log) {
  struct stat st{};
  if (::stat(mountpoint.c_str(), &st) != 0) return;
  const auto control =
      fmt::format("/sys/class/bdi/{}:{}/read_ahead_kb", major(st.st_dev), minor(st.st_dev));
  std::ofstream file(control);
  file << kReadAheadKib << std::flush;
  if (!file) {
    log.info(fmt::format("sequential reads are faster after, as root: echo {} > {}", kReadAheadKib,
                         control));
  }
}

}  // namespace framefs::fuse
