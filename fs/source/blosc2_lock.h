#pragma once

#include <sys/stat.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "fs/core/files/file.h"
#include "fs/core/files/place.h"

namespace framefs::fs {

// The lock file of a frame and its counter at one moment.  A frame with several hard links has a
// lock file for each name, and the counters of different lock files have nothing to do with each
// other.
struct LockCounter {
  std::string path;             // of the lock file; empty for a frame without a known name
  std::optional<FileKey> file;  // empty if there was no lock file at `path`
  std::uint64_t value = 0;      // 0 without a lock file

  // Whether the lock file says that the frame was changed since `before`.
  [[nodiscard]] bool tells_change_since(const LockCounter& before) const {
    const bool is_same = before.file ? file == before.file : path == before.path;
    return is_same && value != before.value;
  }
};

// The lock file by which programs that use the Blosc2 library share a frame: `x.b2frame.b2lock`
// beside a file, `.b2lock` in the directory of a sparse frame.  It is locked by flock(2), and holds
// a counter that every change of the frame advances.  Programs that do not ask for it are not kept
// out.  Where there is no lock file, taking the lock succeeds and gives no protection.  A file of
// another form with the name of the lock file is neither locked nor changed.
// Source: file locks.
// Threads: one at a time.
class Blosc2Lock {
 public:
  // The lock file at its present path.  Errors: system; ENOENT if there is none.
  struct Opened {
    std::string path;
    Result<UniqueFd> file;
  };
  // Opens the lock file; `flags` are those of open(2).
  using Open = std::function<Opened(int flags)>;
  // Whether the caller does not need the lock any more.
  using IsOver = std::function<bool()>;

  // A lock that is never held.
  Blosc2Lock() = default;
  // With `creates`, own() creates the lock file where there is none.
  explicit Blosc2Lock(Open open, bool creates = false)
      : open_(std::move(open)), creates_(creates) {}
  Blosc2Lock(Blosc2Lock&&) noexcept = default;
  Blosc2Lock& operator=(Blosc2Lock&&) noexcept = default;
  ~Blosc2Lock() = default;

  // Takes the lock together with other readers.  Succeeds without the lock if `is_over` returns
  // true during the wait, or if the lock file may not be read.
  // Errors: EBUSY if a program still changes the frame after `patience` (after a wait, the error of
  // lock_error()); EINTR if the caller has given up; EIO if the file is no lock file; system.
  Status share(std::chrono::milliseconds patience, const IsOver& is_over = nullptr);
  // Takes the lock alone and advances the counter.
  // Errors: as share(); EIO also if the lock file has several links; EACCES if it may not be
  // written.
  Status own(std::chrono::milliseconds patience);
  void release() noexcept { file_ = UniqueFd(); }
  [[nodiscard]] bool is_held() const noexcept { return static_cast<bool>(file_); }

  // The counter when the lock was taken last, before own() advanced it.
  [[nodiscard]] const LockCounter& counter() const noexcept { return counter_; }
  // The counter as it is now, which may be changing.
  [[nodiscard]] LockCounter peek() const;

 private:
  // Closing the descriptor releases the lock: no other descriptor shares its description.
  Status lock(int flags, int operation, std::chrono::milliseconds patience, const IsOver& is_over);

  Open open_;
  bool creates_ = false;
  UniqueFd file_;
  LockCounter counter_;
};

// The name of a sparse frame's lock file, in the frame's directory.
inline constexpr const char* kSparseLockFile = ".b2lock";
// The name of a file's lock file, in the same directory.
std::string lock_file_of(const std::string& name);
// The path of a frame's lock file.
std::string lock_file_of(const std::string& path, bool is_sparse);

// Opens the lock file `name` in `directory`, for Blosc2Lock::Open.  A new lock file gets the
// owner and the rights of the frame, `frame`: programs that may open the frame may lock it.
Result<UniqueFd> open_lock_file(int directory, const std::string& name, int flags,
                                const struct stat& frame);
// The same for the frame at a place, for programs without a mount.
Blosc2Lock::Open lock_file_opener(const Place& frame, bool is_sparse);

}  // namespace framefs::fs
