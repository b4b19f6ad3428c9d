#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdio>
#include <iostream>
#include <sstream>
#include <string>

#include "fs/core/files/file.h"
#include "tests/support/catch.h"

namespace framefs::test {

// Captures the standard streams during its lifetime: standard output by its descriptor, because
// programs also write to it past std::cout, and std::cerr.
// Threads: one; no other thread may write meanwhile.
class CapturedStreams {
 public:
  CapturedStreams()
      : file_(::memfd_create("captured", MFD_CLOEXEC)), err_(std::cerr.rdbuf(err_text_.rdbuf())) {
    flush();
    saved_ = fs::UniqueFd(::dup(STDOUT_FILENO));
    REQUIRE((file_ && saved_ && ::dup2(file_.get(), STDOUT_FILENO) >= 0));
  }
  CapturedStreams(const CapturedStreams&) = delete;
  CapturedStreams& operator=(const CapturedStreams&) = delete;
  ~CapturedStreams() {
    flush();
    ::dup2(saved_.get(), STDOUT_FILENO);
    std::cerr.rdbuf(err_);
  }
  // The text so far.
  [[nodiscard]] std::string out() const {
    flush();
    std::string text(static_cast<std::size_t>(::lseek(file_.get(), 0, SEEK_END)), '\0');
    REQUIRE(::pread(file_.get(), text.data(), text.size(), 0) == static_cast<ssize_t>(text.size()));
    return text;
  }
  [[nodiscard]] std::string err() const { return err_text_.str(); }

 private:
  static void flush() {
    std::cout.flush();
    std::fflush(stdout);
  }

  fs::UniqueFd file_;
  fs::UniqueFd saved_;
  std::ostringstream err_text_;
  std::streambuf* const err_;
};

}  // namespace framefs::test
