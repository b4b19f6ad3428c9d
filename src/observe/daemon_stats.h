#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "codec/core/result.h"
#include "src/observe/given_values.h"

namespace framefs {

// The statistics of a mount, as its daemon gives them.
class DaemonStats {
 public:
  // Errors: those of read_stats().
  static codec::Result<DaemonStats> of(const std::filesystem::path& mountpoint);
  // A text that is not one JSON object gives nothing.
  explicit DaemonStats(const std::string& text);

  [[nodiscard]] std::optional<pid_t> pid() const;
  [[nodiscard]] std::optional<std::string> source() const;
  // The words that the mount was given, as --idle=60.
  [[nodiscard]] std::vector<std::string> options() const;
  // The counter at a place such as "/cache/hits"; 0 if it is not given.
  [[nodiscard]] std::uint64_t counter(const char* place) const;
  // The requests of all kinds.
  [[nodiscard]] std::uint64_t requests() const;

 private:
  given::Json json_;
};

}  // namespace framefs
