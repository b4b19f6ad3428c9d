#pragma once

#include <filesystem>
#include <functional>
#include <utility>

#include "fs/core/files/place.h"

namespace framefs {

// Standard input as a file, because the end of a frame or container is read first.  The file is in
// a directory of its own in TMPDIR (/tmp by default), which only this user can enter.  The
// destructor removes both.
class SpooledInput {
 public:
  // Reads standard input to its end; `stop` is asked while there is nothing to read.
  // Errors: those of reading and writing; EINTR if `stop` ended the work.
  static fs::Result<SpooledInput> read(std::function<bool()> stop);

  SpooledInput(SpooledInput&& other) noexcept;
  SpooledInput& operator=(SpooledInput&&) = delete;
  ~SpooledInput();

  // The file, whose name has the suffix of its content, and whose path in messages is "standard
  // input".  Errors: system.
  [[nodiscard]] fs::Result<fs::Place> place() const;

 private:
  explicit SpooledInput(std::filesystem::path path) : path_(std::move(path)) {}

  std::filesystem::path path_;  // empty after a move
};

}  // namespace framefs
