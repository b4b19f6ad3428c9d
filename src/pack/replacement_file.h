#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "fs/core/files/file.h"
#include "fs/core/files/file_sink.h"
#include "fs/core/files/place.h"

namespace framefs {

// The file name that means standard input or standard output.
inline constexpr std::string_view kStandardStream = "-";

// The kind of an output path.
enum class TargetKind : std::uint8_t {
  file,       // nothing yet, or anything that a ReplacementFile decides about
  directory,  // perhaps behind links
  stream,     // "-", or a FIFO, a character device or a socket, perhaps behind links
};
TargetKind target_kind_of(const std::filesystem::path& path);

// The name of an output path in messages.
std::string target_text(const std::filesystem::path& path);

// Opens a target of kind `stream`, except "-".  Errors: system.
fs::Result<fs::UniqueFd> open_stream_target(const std::filesystem::path& path);

// The place of an output path that the user gives.  Errors: system, of the target.
fs::Result<fs::Place> place_of_target(const std::filesystem::path& path);

// Returns whether this is the name of a ReplacementFile that has no name of its own yet.  A run
// that was killed leaves such files.
bool is_unfinished(const std::string& name);

// A file that appears under its name only when it is complete.  Until then it has a temporary name
// in the same directory.  The destructor removes an unpublished file.  All names are those of the
// open directory of the target.  Threads: one.
class ReplacementFile {
 public:
  // Replaces regular files only, never a link, a device, a FIFO or a directory.
  // Errors: system; EEXIST if `target` exists and may not be replaced; ELOOP for a symbolic link,
  // EISDIR for a directory, ENOTSUP for a device or the like.  All are errors of the target.
  static fs::Result<ReplacementFile> create(fs::Place target, bool may_replace);
  // The same for a path that the user gives.
  static fs::Result<ReplacementFile> create(const std::filesystem::path& target, bool may_replace);

  ReplacementFile(ReplacementFile&&) noexcept = default;
  ReplacementFile& operator=(ReplacementFile&&) = delete;
  ~ReplacementFile();

  // To be called if a frame may be replaced: publish() then waits for programs that change it.
  // `creates_lock_file`: as for fs::Blosc2Lock.  `state` is the one in which the frame was read: a
  // later state is not replaced.
  void replaces_frame(bool creates_lock_file, std::optional<fs::FileIdentity> state = {}) noexcept {
    creates_lock_file_ = creates_lock_file;
    replaced_state_ = state;
  }

  [[nodiscard]] fs::FileSink& sink() noexcept { return *sink_; }
  // The name that the file has until publish().
  [[nodiscard]] const fs::Place& temporary() const noexcept { return temporary_; }

  // Gives the file its name.  After a success, the file survives a power loss.  Takes mode and
  // time of modification from `like`; without `like`, uses those of any new file.
  // Errors: as create(); no_space; after replaces_frame(), those of own_replaced_frame(), and
  // ESTALE for another state.
  fs::Status publish(const std::optional<struct stat>& like);

  // The same with a new hard link of `existing` instead of the file that was written.  The two must
  // not be one file already.
  // Errors: as create(); after replaces_frame(), those of own_replaced_frame().
  fs::Status publish_link(const fs::Place& existing);

 private:
  ReplacementFile(fs::Place target, fs::Place temporary, bool may_replace)
      : target_(std::move(target)), temporary_(std::move(temporary)), may_replace_(may_replace) {}
  static fs::Result<ReplacementFile> make(fs::Place target, bool may_replace);
  fs::Status finish(const std::optional<struct stat>& like);
  fs::Status finish_link(const fs::Place& existing);
  fs::Status take_name();
  fs::Status rename_to_target();

  fs::Place target_;
  fs::Place temporary_;
  std::unique_ptr<fs::FileSink> sink_;  // null after publish() or a move
  bool may_replace_;
  std::optional<bool> creates_lock_file_;  // set if a frame may be replaced
  std::optional<fs::FileIdentity> replaced_state_;
};

}  // namespace framefs
