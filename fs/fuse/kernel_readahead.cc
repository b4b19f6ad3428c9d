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

// The kernel reads this much ahead of a sequential reader, and around a page fault of a mapping.
// The daemon decodes ahead by itself, so that a longer read-ahead makes only the fastest sequential
// reads faster, by a tenth, but each random fault slower (tests/bench/RESULTS.md, "Mapped files").
constexpr unsigned kReadAheadKib = 512;

// The device number of the mount. The stat() request is answered by threads of this process. If the
// process is killed before they answer, the kernel keeps the asking thread waiting until all
// descriptors of /dev/fuse are closed, and the kernel closes none of them while a thread still
// shares the descriptor table. Hence the asking thread first unshares the table and closes its own
// copies.
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
  suggest_kernel_readahead(*device, log);
}

void suggest_kernel_readahead(dev_t device, fs::Log& log) {
  log.info(fmt::format(
      "for faster sequential reads, run as root: echo {} > /sys/class/bdi/{}:{}/read_ahead_kb",
      kReadAheadKib, major(device), minor(device)));
}

}  // namespace framefs::fuse
