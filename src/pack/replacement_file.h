#pragma once

#include <sys/stat.h>

#include <filesystem>
#include <memory>
#include <optional>

#include "fs/core/file_sink.h"

namespace framefs {

// A file that appears under its name only when it is complete.  Until then it has a temporary name
// in the same directory.  The destructor removes an unpublished file.  Threads: one.
class ReplacementFile {
 public:
  // Errors: system; EEXIST if `target` exists and may not be replaced.
  static fs::Result<ReplacementFile> create(std::filesystem::path target, bool may_replace);

  ReplacementFile(ReplacementFile&&) noexcept = default;
  ReplacementFile& operator=(ReplacementFile&&) = delete;
  ~ReplacementFile();

  [[nodiscard]] fs::FileSink& sink() noexcept { return *sink_; }

  // Gives the file its name.  After a success, the file survives a power loss.  Takes mode and
  // time of modification from `like`; without `like`, uses those of any new file.
  // Errors: as create(); no_space.
  fs::Status publish(const std::optional<struct stat>& like);

 private:
  ReplacementFile(std::filesystem::path target, bool may_replace)
      : target_(std::move(target)), may_replace_(may_replace) {}
  fs::Status take_name();

  std::filesystem::path target_;
  std::filesystem::path temporary_;
  std::unique_ptr<fs::FileSink> sink_;  // null after publish() or a move
  bool may_replace_;
};

}  // namespace framefs
