#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <utility>

#include "fs/core/files/file.h"
#include "fs/source/handle_format.h"

namespace framefs::fs {

// The file handles of SOURCE's files, for a mount whose own handles outlive it (--export).
// Threads: any number.
class SourceHandles {
 public:
  // Opens a file of SOURCE, as HandleFormat::open() does.
  using Open = std::function<Result<UniqueFd>(std::uint64_t inode,
                                              std::optional<std::uint32_t> generation, int flags)>;

  // `device` is that of SOURCE.
  SourceHandles(const HandleFormat& format, std::uint64_t device, Open open)
      : format_(format), device_(device), open_(std::move(open)) {}

  // The generation of the open file with the attributes `st`.  Empty for a file of another
  // filesystem, which has no handle that outlives the mount.
  [[nodiscard]] std::optional<std::uint32_t> generation_of(int fd, const struct stat& st) const {
    if (st.st_dev != device_) return std::nullopt;
    const auto generation = format_.generation_of(fd);
    return generation ? std::optional(*generation) : std::nullopt;
  }
  // Errors: system; ESTALE if no file has the inode, or another one than that of `generation`.
  [[nodiscard]] Result<UniqueFd> open(std::uint64_t inode, std::optional<std::uint32_t> generation,
                                      int flags) const {
    return open_(inode, generation, flags);
  }

 private:
  const HandleFormat format_;
  const std::uint64_t device_;
  const Open open_;
};

}  // namespace framefs::fs
