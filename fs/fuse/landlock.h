#pragma once

#include <cstdint>
#include <utility>

#include "fs/core/file.h"

namespace framefs::fuse {

using codec::Result;
using codec::Status;

// Rules about which files a thread may use, that it puts itself under.  What is open already stays
// usable.
// Source: landlock(7); kernel, Documentation/userspace-api/landlock.rst.
class Landlock {
 public:
  enum class Access : std::uint8_t {
    read,        // files and directories below
    change,      // and create, change and remove them
    write_file,  // read and write one file
  };

  // Errors: system, where the kernel has no Landlock, or one that forbids to rename from one
  // directory to another whatever the rules say.
  static Result<Landlock> make();

  // Allows what lies below `place`, or the file that it is.  Errors: system.
  Status allow(int place, Access access);

  // Everything else is forbidden from now on, to the calling thread and those that it starts.
  // The thread must have no_new_privs.  Errors: system.
  Status enforce();

 private:
  Landlock(fs::UniqueFd rules, std::uint64_t handled)
      : rules_(std::move(rules)), handled_(handled) {}

  fs::UniqueFd rules_;
  std::uint64_t handled_;  // the kinds of access that the kernel knows
};

}  // namespace framefs::fuse
