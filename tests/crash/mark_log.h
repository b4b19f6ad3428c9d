#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>

#include "fs/core/file.h"

namespace framefs::test {

// Where the workload notes its marks, between the records of the daemon; see record.h and history.h.
// Threads: any number.  A mark that cannot be written ends the process: what follows would prove nothing.
class MarkLog {
 public:
  explicit MarkLog(const std::string& path);

  void file(std::uint64_t id, const std::string& name, std::uint64_t hash) const;
  void state(std::uint64_t id, std::optional<std::uint64_t> hash) const;  // nothing: any
  void synced(std::uint64_t id) const;
  void names(std::uint64_t id, std::initializer_list<std::string> names) const;

 private:
  void write(const std::string& mark) const;

  fs::UniqueFd fd_;
};

}  // namespace framefs::test
