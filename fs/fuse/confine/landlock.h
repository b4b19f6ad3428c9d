#pragma once

#include <cstdint>
#include <utility>

#include "fs/core/files/file.h"

namespace framefs::fuse {

using codec::Result;
using codec::Status;

// Rules that restrict which files the calling thread may use. Descriptors that are already open
// stay usable.
// Source: landlock(7); kernel, Documentation/userspace-api/landlock.rst.
class Landlock {
 public:
  enum class Access : std::uint8_t {
    read,        // read files and directories below
    change,      // also create, change and remove them
    write_file,  // read and write one file
    keep_files,  // read files below, and create, write and remove regular ones
  };

  // Returns the version of the kernel's interface.
  // Errors: system, if the kernel has no Landlock, or has a version that always forbids renames
  // between directories.
  static Result<long> version();
  // Errors: as version().
  static Result<Landlock> make();

  // Allows access to `place`: a file, or a directory and all below it. Errors: system.
  Status allow(int place, Access access);

  // Forbids everything else to the calling thread and to the threads that it starts later.
  // The thread must have no_new_privs. Errors: system.
  Status enforce();

 private:
  Landlock(fs::UniqueFd rules, std::uint64_t handled)
      : rules_(std::move(rules)), handled_(handled) {}

  fs::UniqueFd rules_;
  std::uint64_t handled_;  // the access rights that the kernel supports
};

}  // namespace framefs::fuse
