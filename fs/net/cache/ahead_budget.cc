#include "fs/net/cache/ahead_budget.h"

#include <algorithm>
#include <cstddef>

namespace framefs::net {

SequentialStreams::Limits AheadBudget::limits(const ContentKey& key, const Network& network,
                                              std::uint64_t flying_bytes, Time now) {
  std::erase_if(active_, [&](const auto& entry) { return entry.second + kActive < now; });
  const auto readers = std::max<std::size_t>(1, active_.size() + (active_.contains(key) ? 0 : 1));
  const auto pipe = std::max(kUsualWindowBytes, kPipesPerWindow * network.pipe_bytes);
  const auto first = std::min(kMaxFirstWindowBytes, network.first_pipe_bytes);
  const auto flying = std::min(flying_bytes, memory_bytes_ / kFlyingShare);
  return {.window_bytes = std::min(pipe, memory_bytes_ / kWindowShare / readers),
          .first_bytes = left_early_ < kMaxLeftEarly ? first : 0,
          .fetch_bytes = memory_bytes_ / kFlyingShare - flying};
}

void AheadBudget::note_course(SequentialStreams::Course course) {
  if (course == SequentialStreams::Course::went_on) left_early_ = 0;
  if (course == SequentialStreams::Course::left_early) ++left_early_;
}

}  // namespace framefs::net
