#include "src/cli/text_output.h"

#include <cerrno>
#include <cstdio>

#include "fs/core/file.h"

namespace framefs {

bool TextOutput::put(std::string_view text) {
  if (error_ == 0 && std::fwrite(text.data(), 1, text.size(), stdout) != text.size()) {
    error_ = errno;
  }
  return error_ == 0;
}

codec::Status TextOutput::finish() {
  if (error_ == 0 && std::fflush(stdout) != 0) error_ = errno;
  if (error_ != 0) return fs::system_error_of(error_, "write");
  return {};
}

}  // namespace framefs
