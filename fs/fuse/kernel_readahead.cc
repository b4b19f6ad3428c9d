#include "fs/fuse/kernel_readahead.h"

#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <climits>
#include <optional>
#include <thread>

#include <fmt/core.h>

namespace framefs::fuse {
namespace {

// Sequential reads then arrive as requests of the largest size, several at a time, so that many
// blocks are decoded in parallel.
constexpr unsigned kReadAheadKib = 4096;

// The device that the mount shows, which our own threads have to answer.  Should they be killed
// before they do, the kernel lets the asking thread wait until it has closed all descriptors of
// /dev/fuse, and does not close them as long as a thread has them: so this one gives them up first,
// for itself.
std::optional<dev_t> ask_device(const std::filesystem::path& mountpoint) {
  std::optional<dev_t> device;
  const auto ask = [&] {
    ::close_range(STDERR_FILENO + 1, UINT_MAX, CLOSE_RANGE_UNSHARE);
    struct stat st{};
    if (::stat(mountpoint.c_str(), &st) == 0) device = st.st_dev;
  };
  std::jthread(ask).join();
  return device;
}

}  // namespace

void raise_kernel_readahead(const std::filesystem::path& mountpoint, const Watchdog* watchdog,
                            fs::Log& log) {
  const auto device = ask_device(mountpoint);
  if (!device || (watchdog != nullptr && watchdog->set_readahead(*device, kReadAheadKib))) return;
  log.info(fmt::format(
      "sequential reads are faster after, as root: echo {} > /sys/class/bdi/{}:{}/read_ahead_kb",
      kReadAheadKib, major(*device), minor(*device)));
}

}  // namespace framefs::fuse
