#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>

#include "codec/core/error.h"
#include "fs/core/guarded.h"

// Only named here: its header costs each file that includes it seconds to compile.
namespace spdlog {
class logger;
}

namespace framefs::fs {

// The daemon's log.  Threads: any number.
class Log {
 public:
  explicit Log(std::shared_ptr<spdlog::logger> sink) : sink_(std::move(sink)) {}

  void info(std::string_view text);
  void warn(std::string_view text);

  // A failure to serve part of a file, logged once for each place and cause however often it is
  // met: many readers stumble over the same damaged chunk.  `place` names path and chunk.
  void failure(const std::string& place, const codec::Error& error);

 private:
  // So many places are remembered; past that, a line may come again.
  static constexpr std::size_t kMaxPlaces = 16384;

  const std::shared_ptr<spdlog::logger> sink_;
  Guarded<std::unordered_set<std::string>> seen_;
};

}  // namespace framefs::fs
