#pragma once

#include <sys/stat.h>

#include <filesystem>
#include <memory>
#include <optional>

#include "fs/core/file_sink.h"

namespace framefs {

// A file that appears under its name all at once, when it is complete: until then it has a name of
// its own beside it, which goes with the object.  Threads: one.
class ReplacementFile {
 public:
  // Errors: system, EEXIST where there is something of that name and it is not to be replaced.
  static fs::Result<ReplacementFile> create(std::filesystem::path target, bool may_replace);

  ReplacementFile(ReplacementFile&&) noexcept = default;
  ReplacementFile& operator=(ReplacementFile&&) = delete;
  ~ReplacementFile();

  [[nodiscard]] fs::FileSink& sink() noexcept { return *sink_; }

  // Gives the file its name, for good: when this returns, it is there after a loss of power.  Mode
  // and time of modification are taken from `like`; without one they are what any new file has.
  // Errors: as create(); no_space.
  fs::Status publish(const std::optional<struct stat>& like);

 private:
  ReplacementFile(std::filesystem::path target, bool may_replace)
      : target_(std::move(target)), may_replace_(may_replace) {}
  fs::Status take_name();

  std::filesystem::path target_;
  std::filesystem::path temporary_;
  std::unique_ptr<fs::FileSink> sink_;  // null once the name is taken, or moved from
  bool may_replace_;
};

}  // namespace framefs
