#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "fs/core/files/file.h"
#include "fs/source/handle_format.h"

namespace framefs::fuse {

using codec::Result;

// The watchdog's part in --export.  The daemon in its sandbox may not open files by their handles,
// which needs a right that reaches all files of a filesystem; the watchdog opens them for it.  All
// of them lie in SOURCE, because SOURCE is the root of its filesystem (fs::HandleFormat::of()).
// Threads: one.
class HandleOpener {
 public:
  // `source` is SOURCE, open for reading as the daemon sees it: the opened files are then in the
  // daemon's namespace, too, which ".." does not leave.
  // Errors: those of fs::HandleFormat::of().
  static Result<HandleOpener> make(fs::UniqueFd source, bool read_only);

  // The daemon's message for open().
  static std::string open_message(std::uint64_t inode, std::optional<std::uint32_t> generation,
                                  int flags);
  // Opens a file: with O_PATH any, and else a regular file or a directory that has a name.
  // Errors: system; ESTALE if there is no such file; EROFS for writing if the mount is read-only.
  [[nodiscard]] Result<fs::UniqueFd> open(std::string_view open_message) const;

 private:
  HandleOpener(fs::UniqueFd source, const fs::HandleFormat& format, bool read_only)
      : source_(std::move(source)), format_(format), read_only_(read_only) {}

  fs::UniqueFd source_;
  fs::HandleFormat format_;
  bool read_only_;
};

}  // namespace framefs::fuse
