#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>

#include "codec/core/result.h"
#include "fs/core/files/place.h"

namespace framefs {

enum class Output : std::uint8_t {
  result,     // a file, a link, or the directory of a container or of a sparse frame
  directory,  // of a tree, which may get the results of several inputs
};

// The outputs that a run of a command has made.  The names of outputs follow from those of the
// inputs, so that two inputs may need the same one: the second must not replace what the run made
// of the first, even if the user allows the run to replace files.
// Threads: one.
class MadeOutputs {
 public:
  // Errors: ENOTUNIQ, of the target, if the run has made another output at `target`.
  [[nodiscard]] codec::Status check(const fs::Place& target, Output kind) const;
  void add(const fs::Place& target, Output kind);

 private:
  // The directory and the name in it.  The hard links of a file are several places.
  using Key = std::tuple<dev_t, ino_t, std::string>;
  static std::optional<Key> key_of(const fs::Place& target);

  std::map<Key, Output> made_;
};

}  // namespace framefs
