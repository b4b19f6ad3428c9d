#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "fs/core/files/file.h"

namespace framefs::fs {

// The form of the file handles of one filesystem (name_to_handle_at(2)).  A handle consists of an
// inode number, a generation, which tells the files apart that have that inode one after the other,
// and bytes that are equal for all files.  A handle can therefore be rebuilt from the two numbers.
// Immutable.
// Threads: any number.
class HandleFormat {
 public:
  // The form of the handles of the filesystem of `root`, which is open for reading.
  // Errors: system: EOPNOTSUPP for a filesystem whose handles cannot be rebuilt; EINVAL if `root`
  //   is not the root of its filesystem, or of its subvolume on Btrfs, so that handles would lead
  //   to files that do not lie below it; EPERM without the privilege to open handles.  The error's
  //   field is a sentence for the user.
  static Result<HandleFormat> of(int root);

  // The generation of the file of `fd`, which may be an O_PATH descriptor.
  // Errors: system; EXDEV for a file of another filesystem.
  [[nodiscard]] Result<std::uint32_t> generation_of(int fd) const;

  // Opens the file that has the inode; `root` is that of of(), `flags` are those of open(2).
  // Without a generation, opens the file that has the inode now.
  // Errors: system; ESTALE if there is no such file.
  [[nodiscard]] Result<UniqueFd> open(int root, std::uint64_t inode,
                                      std::optional<std::uint32_t> generation, int flags) const;

  // Where the handles of a filesystem have the two numbers, in the byte order of the machine.
  struct Shape {
    int type;
    std::size_t bytes;
    std::size_t inode_bytes;  // from byte 0 on
    std::size_t generation_at;
  };

 private:
  static constexpr std::size_t kMaxBytes = 20;
  using Bytes = std::array<std::byte, kMaxBytes>;

  HandleFormat(const Shape& shape, const Bytes& root_handle)
      : shape_(&shape), root_handle_(root_handle) {}
  static const Shape* shape_of_filesystem(int root);
  [[nodiscard]] Result<std::uint64_t> root_inode(int root) const;

  const Shape* shape_;
  Bytes root_handle_;  // its other bytes are those of all handles
};

}  // namespace framefs::fs
