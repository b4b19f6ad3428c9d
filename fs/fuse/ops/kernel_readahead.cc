#include "fs/fuse/ops/kernel_readahead.h"

#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <optional>
#include <ranges>
#include <string>
#include <utility>

#include <fmt/core.h>

#include "fs/core/files/mount_table.h"

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

// The device number of the mount, if this process can see it.
std::optional<dev_t> device_at(const std::filesystem::path& mountpoint) {
  const auto table = fs::mount_table();
  const auto mounts = table | std::views::reverse;
  const auto top = std::ranges::find(mounts, mountpoint, &fs::MountTableEntry::mountpoint);
  if (top == mounts.end()) return std::nullopt;
  return top->device;
}

}  // namespace

void KernelReadahead::start(const std::filesystem::path& mountpoint, const Watchdog* watchdog,
                            fs::Log& log) {
  auto control = watchdog == nullptr ? Result<fs::UniqueFd>() : watchdog->open_readahead();
  const bool is_set = control && state_.with([&](State& state) {
    state.control = std::move(*control);
    return set(state, kReadAheadKib);
  });
  if (is_set) return;
  if (const auto device = device_at(mountpoint)) suggest_kernel_readahead(*device, log);
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
