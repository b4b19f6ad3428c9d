#include "src/cli/text_output.h"

#include <cerrno>
#include <cstdio>

#include "fs/core/files/file.h"
#include "src/cli/cause_text.h"
#include "src/cli/collected_log.h"

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

bool TextOutput::end() {
  const auto written = finish();
  if (!written && written.error().sys != EPIPE) {
    print_messages({failure_text("standard output", written.error())});
  }
  return written.has_value();
}

}  // namespace framefs
