#pragma once

#include <string_view>

#include "codec/core/result.h"

namespace framefs {

// Standard output that tolerates a closed reader (EPIPE).  Threads: one.
class TextOutput {
 public:
  // Returns false after a write failed.  The caller may then skip the rest of its output.
  bool put(std::string_view text);

  // Flushes the output.
  // Errors: system, with the errno of the first write that failed; EPIPE if the reader is gone.
  codec::Status finish();
  // Flushes the output, and prints a message about a failure unless the reader is gone.  Returns
  // whether all output has been written.
  [[nodiscard]] bool end();

 private:
  int error_ = 0;  // errno of the first write that failed
};

}  // namespace framefs
