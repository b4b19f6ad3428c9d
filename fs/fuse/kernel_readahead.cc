#include "fs/fuse/kernel_readahead.h"

#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <climits>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include <fmt/core.h>

namespace framefs::fuse {
namespace {

// The daemon decodes ahead by itself.  A long read-ahead of the kernel hence makes only the fastest
// sequential readers faster, by a tenth.  A short one makes each random fault of a mapping faster,
// by half (tests/bench/RESULTS.md, "Mapped files").
constexpr unsigned kReadAheadKib = 512;
constexpr unsigned kReadAheadOfScansKib = 4096;
constexpr unsigned kReadAheadOfJumpsKib = 128;

unsigned suitable_kib(fs::ReadHabit habit) {
  switch (habit) {
    case fs::ReadHabit::unknown:
      return kReadAheadKib;
    case fs::ReadHabit::jumps:
      return kReadAheadOfJumpsKib;
    case fs::ReadHabit::scans:
      return kReadAheadOfScansKib;
  }
  std::unreachable();
}

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

void KernelReadahead::start(const std::filesystem::path& mountpoint, const Watchdog* watchdog,
                            fs::Log& log) {
  const auto device = ask_device(mountpoint);
  if (!device) return;
  auto control = watchdog == nullptr ? Result<fs::UniqueFd>() : watchdog->open_readahead();
  const bool is_set = control && state_.with([&](State& state) {
    state.control = std::move(*control);
    return set(state, kReadAheadKib);
  });
  if (!is_set) suggest_kernel_readahead(*device, log);
}

void KernelReadahead::choose(fs::ReadHabit habit) {
  state_.with([&](State& state) {
    if (state.control) set(state, suitable_kib(habit));
  });
}

bool KernelReadahead::set(State& state, unsigned kib) {
  if (state.kib == kib) return true;
  const auto text = std::to_string(kib);
  // Takes a microsecond: the file is one of sysfs.
  if (::pwrite(state.control.get(), text.data(), text.size(), 0) < 0) return false;
  state.kib = kib;
  return true;
}

void suggest_kernel_readahead(dev_t device, fs::Log& log) {
  log.info(fmt::format(
      "for faster sequential reads, run as root: echo {} > /sys/class/bdi/{}:{}/read_ahead_kb",
      kReadAheadKib, major(device), minor(device)));
}

}  // namespace framefs::fuse
