#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>

#include "fs/core/files/file.h"

namespace framefs::test {

// The log for the workload's marks, which the daemon's records share; see record.h and history.h.
// Threads: any number.  If a mark cannot be written, the process ends, because a log without it
// would prove nothing.
class MarkLog {
 public:
  explicit MarkLog(const std::string& path);

  void file(std::uint64_t id, const std::string& name, std::uint64_t hash) const;
  void state(std::uint64_t id, std::optional<std::uint64_t> hash) const;  // nothing: any
  void synced(std::uint64_t id) const;
  void replaces(std::uint64_t id, std::uint64_t other, const std::string& name) const;
  void replaced(std::uint64_t id) const;
  void leaves(std::uint64_t id, const std::string& name) const;
  void names(std::uint64_t id, std::initializer_list<std::string> names) const;

 private:
  void write(const std::string& mark) const;

  fs::UniqueFd fd_;
};

}  // namespace framefs::test
