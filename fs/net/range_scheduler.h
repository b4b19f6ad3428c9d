#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "codec/core/byte_source.h"
#include "fs/core/guarded.h"
#include "fs/net/net_stats.h"
#include "fs/net/part_cache.h"
#include "fs/net/part_store.h"
#include "fs/net/remote_object.h"
#include "fs/net/request_queue.h"

namespace framefs::net {

// Brings ranges of objects for all readers of a mount: from memory, from the disk cache, from a
// request that is under way already, or by new requests, as few as the rules of fetch_plan.h make.
// Ahead of sequential readers it fetches on its own.
// Threads: any number.
class RangeScheduler {
 public:
  using Read = codec::ByteSource::Read;
  using Object = std::shared_ptr<const RemoteObject>;

  struct Options {
    std::uint64_t memory_bytes = 128 << 20;  // for parts in memory and under way
  };
  // Lifetime: all outlive it; `disk` may be null.
  RangeScheduler(RequestQueue& queue, NetStats& stats, PartCache* disk, Options options);
  RangeScheduler(const RangeScheduler&) = delete;
  RangeScheduler& operator=(const RangeScheduler&) = delete;
  // The transport calls back no more: it is stopped first.
  ~RangeScheduler();

  // Fills all of `reads`, which lie within the object, and waits for that.
  // Errors: of the object's calls; system, EINTR, where the operation of this thread is interrupted.
  Status read(const Object& object, std::span<const Read> reads);

  // Has what is missing of `ranges` fetched with as few requests as possible; read() then waits for
  // those.  Does not wait itself.
  void expect(const Object& object, std::span<const ByteRange> ranges);

  // Keeps bytes that came by other ways, such as with open().
  void keep(const ObjectVersion& version, Part part);

  // Nobody reads the object any more: what is on its way for nobody is cancelled.
  void release(const ObjectVersion& version);

 private:
  struct Flight;
  using FlightPtr = std::shared_ptr<Flight>;
  // A range that a reader wants, and where it goes; nowhere for expect().
  struct Want {
    ByteRange range;
    std::byte* out = nullptr;
  };
  struct Ready {
    Want want;
    Part part;
  };
  // How a set of wants can be met.
  struct Cover {
    std::vector<Ready> ready;
    std::vector<Want> joined;        // met by flights
    std::vector<FlightPtr> flights;  // each once
    std::vector<Want> missing;
  };
  using Flights = std::map<std::uint64_t, FlightPtr>;  // by offset
  struct State {
    explicit State(std::uint64_t memory_bytes) : parts(memory_bytes) {}
    PartStore parts;
    std::unordered_map<ContentKey, Flights, ContentKeyHash> flights;
    std::uint64_t flying_bytes = 0;
    // When sequential readers were seen last, by object.
    std::unordered_map<ContentKey, std::chrono::steady_clock::time_point, ContentKeyHash> active;
  };

  static void cover_one(State& state, const ContentKey& key, const Want& want, Cover& cover);
  static void join(Cover& cover, const FlightPtr& flight);
  static std::optional<std::uint64_t> next_flight(const State& state, const ContentKey& key,
                                                  std::uint64_t offset);
  static FlightPtr flight_at(const State& state, const ContentKey& key, std::uint64_t offset);

  std::vector<Want> take_from_disk(const ContentKey& key, const std::vector<Want>& missing);
  // Flights for what is missing; they are in `cover.flights` then.
  std::vector<FlightPtr> plan(State& state, const RemoteObject& object, Cover& cover,
                              Priority priority) const;
  void launch(const Object& object, const std::vector<FlightPtr>& flights);
  void land(const Object& object, const FlightPtr& flight, Result<HttpAnswer> answer);
  static Result<Part> wait_for(const FlightPtr& flight);
  void leave(const ContentKey& key, const std::vector<FlightPtr>& flights);
  Status read_once(const Object& object, std::span<const Want> wants, bool& may_retry);
  void fetch_ahead(const Object& object, std::span<const Want> wants);
  std::uint64_t window_bytes(const ContentKey& key);

  RequestQueue& queue_;
  NetStats& stats_;
  PartCache* const disk_;
  fs::Guarded<State> state_;
};

}  // namespace framefs::net
