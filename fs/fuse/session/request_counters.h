#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "fs/core/diagnostics/counters.h"
#include "fs/core/mount_options.h"
#include "fs/fuse/ops/stats_attribute.h"
#include "fs/tree/activity.h"

namespace framefs::fuse {

// Counts the requests and answers of a mount.  Threads: any number.
class RequestCounters {
 public:
  // The kinds of requests that are counted separately.
  static constexpr std::array<std::string_view, 6> kKinds = {"read",    "write", "lookup",
                                                             "getattr", "fsync", "other"};
  // `error` is the errno of the answer, 0 for success.
  void note(const char* operation, std::chrono::nanoseconds took, int error) noexcept;
  // The number of requests so far.
  [[nodiscard]] std::uint64_t requests() const noexcept;
  void note_read(std::uint64_t bytes) noexcept { read_bytes_.add(bytes); }
  void note_written(std::uint64_t bytes) noexcept { written_bytes_.add(bytes); }

 private:
  friend std::string stats_json(const RequestCounters& requests, const fs::Activity& activity,
                                const fs::MountOptions& options, const std::string& network);
  struct NamedError {
    int error;
    const char* name;
  };
  static const std::array<NamedError, 8> kErrors;

  std::array<fs::LatencyHistogram, kKinds.size()> latencies_;
  std::array<fs::Counter, 9> errors_;  // those of kErrors, then all others
  fs::Counter read_bytes_;
  fs::Counter written_bytes_;
  const std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

// Returns all counts as one JSON object.  `network`: an object for the key "network", or empty.
std::string stats_json(const RequestCounters& requests, const fs::Activity& activity,
                       const fs::MountOptions& options, const std::string& network = {});

}  // namespace framefs::fuse
