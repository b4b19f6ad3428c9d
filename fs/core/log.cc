#include "fs/core/log.h"

#include <spdlog/logger.h>

#include "fs/core/error_map.h"

namespace framefs::fs {

void Log::info(std::string_view text) { sink_->info("{}", text); }

void Log::warn(std::string_view text) { sink_->warn("{}", text); }

void Log::failure(const std::string& place, const codec::Error& error) {
  const auto line = place + ": " + describe(error);
  const bool fresh = seen_.with([&](auto& seen) {
    if (seen.size() >= kMaxPlaces) seen.clear();
    return seen.insert(line).second;
  });
  if (!fresh) return;
  if (error.kind == codec::Errc::internal) {
    sink_->critical("BUG: {}", line);
  } else {
    sink_->error("{}", line);
  }
}

}  // namespace framefs::fs
