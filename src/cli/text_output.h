#pragma once

#include <string_view>

#include "codec/core/result.h"

namespace framefs {

// Text on standard output, of which it may turn out that nobody takes it.  Threads: one.
class TextOutput {
 public:
  // Returns false once nothing more can be written; the rest may then be saved.
  bool put(std::string_view text);

  // Returns when all is written.
  // Errors: system, as the first write that failed; EPIPE where the reader is gone.
  codec::Status finish();

 private:
  int error_ = 0;  // errno of that write
};

}  // namespace framefs
