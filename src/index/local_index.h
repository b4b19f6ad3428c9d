#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include "codec/core/limits.h"
#include "codec/core/result.h"
#include "src/cli/tree_walk.h"

namespace framefs {

// Writes the manifest of a directory on disk (fs/net/store/manifest.h): the first bytes of each
// file that may be a frame, with its size and time.
// Threads: one.
class LocalIndex {
 public:
  // Takes the next part of the text.  An error ends the index.
  using Put = std::function<codec::Status(std::string_view text)>;
  // Told about each file and directory that cannot be read, with its path for messages.
  using Report = TreeWalk::Fail;

  LocalIndex(std::filesystem::path source, const codec::Limits& limits, Put put, Report report)
      : source_(std::move(source)),
        limits_(limits),
        put_(std::move(put)),
        report_(std::move(report)) {}

  // Errors: system, if SOURCE is no directory that can be read; EFBIG if the manifest exceeds the
  // limit; EINTR; those of Put.
  codec::Status write();

 private:
  codec::Status write_file(const TreeEntry& entry);
  codec::Status put(std::string_view text);

  const std::filesystem::path source_;
  const codec::Limits limits_;
  const Put put_;
  const Report report_;
  std::uint64_t put_bytes_ = 0;
  bool is_first_ = true;
};

}  // namespace framefs
