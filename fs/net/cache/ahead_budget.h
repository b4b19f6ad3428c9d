#pragma once

#include <chrono>
#include <cstdint>
#include <unordered_map>

#include "fs/net/cache/content_key.h"
#include "fs/net/cache/sequential_streams.h"

namespace framefs::net {

// How many bytes may be fetched ahead of the readers of all objects.  A reader gets a window of
// several times the bytes that fill the network.  All windows together have a share of the memory
// for stored bytes, and so have all requests under way.
// Threads: one at a time.
class AheadBudget {
 public:
  using Time = std::chrono::steady_clock::time_point;

  // `memory_bytes`: for stored bytes.
  explicit AheadBudget(std::uint64_t memory_bytes) : memory_bytes_(memory_bytes) {}

  // The network, as LatencyModel has measured it; zeros before.
  struct Network {
    std::uint64_t pipe_bytes = 0;
    std::uint64_t first_pipe_bytes = 0;
  };
  // The limits for a reader of the object, while requests for `flying_bytes` are under way.
  SequentialStreams::Limits limits(const ContentKey& key, const Network& network,
                                   std::uint64_t flying_bytes, Time now);

  // The object has a reader of which it is known what it reads next.  Such a reader has a part of
  // the memory until it has not been noted for kActive.
  void note_reader(const ContentKey& key, Time now) { active_[key] = now; }
  // The object has no reader any more.
  void forget(const ContentKey& key) { active_.erase(key); }
  // The readers from the beginning of a file went on like this, until it was closed.
  void note_course(SequentialStreams::Course course);

  static constexpr std::chrono::seconds kActive{5};
  // The bytes to fetch ahead of a single reader before the network has been measured.
  static constexpr std::uint64_t kUsualWindowBytes = 16 << 20;
  // A window of several times the bytes in the pipe, because the pipe was measured with a window
  // that may have been too small.
  static constexpr std::uint64_t kPipesPerWindow = 4;
  // The maximum of `first_bytes`, which are fetched in vain if the reader leaves early.
  static constexpr std::uint64_t kMaxFirstWindowBytes = 8 << 20;
  // When this number of readers, one after the other, left early, the next one gets a small window.
  static constexpr unsigned kMaxLeftEarly = 2;
  // The share of the memory for all windows.  Parts that have been read, and are no longer needed,
  // fill as much memory again before the parts that were fetched ahead are read.
  static constexpr std::uint64_t kWindowShare = 3;
  // The share of the memory for requests under way.
  static constexpr std::uint64_t kFlyingShare = 2;

 private:
  const std::uint64_t memory_bytes_;
  // The time at which each object last had such a reader.
  std::unordered_map<ContentKey, Time, ContentKeyHash> active_;
  // The number of files, one after the other, whose readers from the beginning left early.
  unsigned left_early_ = 0;
};

}  // namespace framefs::net
