#include "fs/write/commit/unsynced_files.h"

#include <fcntl.h>
#include <unistd.h>

#include <utility>

namespace framefs::fs {

Status UnsyncedFiles::add(std::uint32_t number, UniqueFd file) {
  const auto too_many = files_.with([&](Files& files) -> Files {
    auto taken = files.size() + 1 < kMost ? Files{} : std::exchange(files, {});
    files.insert_or_assign(number, std::move(file));
    return taken;
  });
  return sync_all(too_many);
}

void UnsyncedFiles::drop(std::uint32_t number) {
  const auto dropped = files_.with([&](Files& files) { return files.extract(number); });
}

Status UnsyncedFiles::sync() {
  return sync_all(files_.with([](Files& files) { return std::exchange(files, {}); }));
}

Status UnsyncedFiles::sync_all(const Files& files) {
  // All writes begin before the first wait, so that the filesystem can join them.
  if (files.size() > 1) {
    for (const auto& [number, file] : files) {
      ::sync_file_range(file.get(), 0, 0, SYNC_FILE_RANGE_WRITE);
    }
  }
  for (const auto& [number, file] : files) {
    if (::fsync(file.get()) != 0) return system_error("fsync");
  }
  return {};
}

}  // namespace framefs::fs
