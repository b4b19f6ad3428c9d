#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "codec/core/byte_source.h"
#include "fs/core/threads/guarded.h"
#include "fs/net/cache/ahead_budget.h"
#include "fs/net/cache/fetch_plan.h"
#include "fs/net/cache/flight_table.h"
#include "fs/net/cache/part_cache.h"
#include "fs/net/cache/part_store.h"
#include "fs/net/cache/range_cover.h"
#include "fs/net/cache/sequential_streams.h"
#include "fs/net/http/body_pool.h"
#include "fs/net/http/request_queue.h"
#include "fs/net/net_stats.h"
#include "fs/net/store/remote_object.h"

namespace framefs::net {

// The bytes of an object to fetch before anyone asks for them.
enum class FetchAhead : std::uint8_t {
  in_stored_order,  // those behind the ones that a sequential reader has read
  as_expected       // those that the reader expects: it reads in another order
};

// Supplies ranges of objects to all readers of a mount: from memory, from the disk cache, from a
// request that is already under way, or by new requests.  The rules of fetch_plan.h keep the number
// of new requests low.  The scheduler also fetches what readers will probably read next.
// Threads: any number.
class RangeScheduler {
 public:
  using Read = codec::ByteSource::Read;
  using Object = std::shared_ptr<const RemoteObject>;

  struct Options {
    std::uint64_t memory_bytes = 128 << 20;  // for parts in memory and under way
    // The largest object that is fetched whole if its server sends nothing else.
    std::uint64_t whole_object_bytes = 0;
  };
  // Lifetime: all outlive it; `disk` may be null.
  RangeScheduler(RequestQueue& queue, NetStats& stats, BodyPool& bodies, PartCache* disk,
                 Options options);
  RangeScheduler(const RangeScheduler&) = delete;
  RangeScheduler& operator=(const RangeScheduler&) = delete;
  // The transport must be stopped before, so that it calls nothing back.
  ~RangeScheduler();

  // Fills all of `reads`, which lie within the object, and waits until they are complete.
  // Errors: those of the object's calls; system, with EINTR, if the operation of this thread is
  // interrupted.
  Status read(const Object& object, std::span<const Read> reads,
              FetchAhead ahead = FetchAhead::in_stored_order);

  // Starts to fetch the missing parts of `now` with as few requests as possible, then as much of
  // `next` as the limits allow, and returns at once.  A later read() waits for these requests.
  void expect(const Object& object, std::span<const ByteRange> now,
              std::span<const ByteRange> next);

  // Whether memory or the disk cache holds all of `range`.
  bool holds(const ObjectVersion& version, ByteRange range);

  [[nodiscard]] std::uint64_t whole_object_bytes() const { return whole_object_bytes_; }
  // Errors: EIO if the server of the object sends only all of it, and that is too much.
  [[nodiscard]] Status check_size(const RemoteObject& object) const;

  // Keeps bytes that came by another way, such as with open().
  void keep(const RemoteObject& object, Part part);

  // A file of the object is opened.
  void attach(const Object& object);
  // The file is closed.  After the last one, the scheduler cancels the requests for which no reader
  // waits.
  void release(const Object& object);

 private:
  using FlightPtr = FlightTable::FlightPtr;
  struct State {
    explicit State(std::uint64_t memory_bytes) : parts(memory_bytes), ahead(memory_bytes) {}
    PartStore parts;
    FlightTable flights;
    AheadBudget ahead;
    std::unordered_map<ContentKey, std::size_t, ContentKeyHash> files;  // the open ones
  };

  static RangeCover cover_of(State& state, const ContentKey& key, std::span<const Want> wants);
  std::vector<Want> take_from_disk(const ContentKey& key, const std::vector<Want>& missing);
  // The ranges to fetch.
  static std::vector<ByteRange> ranges_to_fetch(State& state, const RemoteObject& object,
                                                const RangeCover& cover, const FetchRules& rules);
  // Creates the flights for the missing ranges, and adds them to the cover.
  std::vector<FlightPtr> plan(State& state, const RemoteObject& object, RangeCover& cover,
                              Priority priority) const;
  void launch(const Object& object, const std::vector<FlightPtr>& flights);
  void land(const Object& object, const FlightPtr& flight, Result<HttpAnswer> answer);
  static Result<Part> wait_for(const FlightPtr& flight);
  void cancel(const FlightTable::Unwanted& requests);
  // A read whose requests are under way.
  struct Begun {
    RangeCover cover;
    std::vector<FlightPtr> made;  // the flights of `cover` that this read started
  };
  Begun begin(const Object& object, std::span<const Want> wants);
  Status finish(const Object& object, const Begun& begun, bool& may_retry);
  [[nodiscard]] std::vector<Want> wants_of(const RemoteObject& object,
                                           std::span<const ByteRange> ranges) const;
  void fetch_ahead(const Object& object, std::span<const Want> wants);
  void fetch_next(const Object& object, std::span<const ByteRange> next);
  SequentialStreams::Limits limits_ahead(const ContentKey& key);

  RequestQueue& queue_;
  NetStats& stats_;
  BodyPool& bodies_;
  PartCache* const disk_;
  const std::uint64_t whole_object_bytes_;
  fs::Guarded<State> state_;
};

}  // namespace framefs::net
