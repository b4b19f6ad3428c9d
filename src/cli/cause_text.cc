#include "src/cli/cause_text.h"

#include <cerrno>
#include <string_view>
#include <system_error>

#include <fmt/core.h>

#include "codec/frame/chunk_checksums.h"
#include "fs/core/diagnostics/error_map.h"

namespace framefs {

bool is_no_frame(const codec::Error& error) {
  return error.kind == codec::Errc::bad_field && std::string_view(error.field) == "frame magic";
}

std::string cause_text(const codec::Error& error) {
  const std::string_view field = error.field;
  if (is_no_frame(error)) {
    return "this is not a Blosc2 frame (wrong magic)";
  }
  if (error.kind == codec::Errc::bad_field && field == "chunk file") {
    return "the chunk file is missing, or is not a regular file";
  }
  if (error.kind == codec::Errc::over_limit && field == "number of chunks with checksums") {
    return fmt::format("a frame with checksums has at most {} chunks: a larger --chunk-size helps",
                       codec::kMaxChecksums);
  }
  // The name of the call adds nothing to "No such file or directory".
  const bool is_plain = field == "open" || field == "stat" || field == "statistics";
  if (error.kind == codec::Errc::system && is_plain) {
    return std::generic_category().message(error.sys);
  }
  return fs::describe(error);
}

std::string failure_text(const std::string& path, const codec::Error& error) {
  const bool is_there =
      error.kind == codec::Errc::system && error.sys == EEXIST && !error.is_sentence;
  return is_there ? fmt::format("{} exists; --force replaces it", path)
                  : fmt::format("{}: {}", path, cause_text(error));
}

}  // namespace framefs
