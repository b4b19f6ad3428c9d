#include "fs/net/cache/range_scheduler.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <optional>
#include <utility>

#include "fs/core/files/file.h"
#include "fs/core/threads/interrupt.h"
#include "fs/net/store/object_store.h"

namespace framefs::net {
namespace {

using Clock = std::chrono::steady_clock;

}  // namespace

RangeScheduler::RangeScheduler(RequestQueue& queue, NetStats& stats, BodyPool& bodies,
                               PartCache* disk, Options options)
    : queue_(queue),
      stats_(stats),
      bodies_(bodies),
      disk_(disk),
      whole_object_bytes_(options.whole_object_bytes),
      state_(std::in_place, std::max(options.memory_bytes, 2 * options.whole_object_bytes)) {}

RangeScheduler::~RangeScheduler() = default;

RangeCover RangeScheduler::cover_of(State& state, const ContentKey& key,
                                    std::span<const Want> wants) {
  RangeCover cover;
  for (const auto& want : wants) cover.add(key, want, state.parts, state.flights);
  return cover;
}

auto RangeScheduler::take_from_disk(const ContentKey& key, const std::vector<Want>& missing)
    -> std::vector<Want> {
  if (disk_ == nullptr) return missing;
  std::vector<Want> left;
  for (const auto& want : missing) {
    auto at = want.range.offset;
    const auto leave_to = [&](std::uint64_t end) {
      if (at < end) left.push_back(want.piece(at, end));
    };
    for (const auto& part : disk_->find(key, want.range)) {
      leave_to(std::max(at, part.offset));
      want.take(part);
      at = std::max(at, std::min(part.end(), want.end()));
      state_.with([&](State& state) { state.parts.insert(key, part); });
    }
    leave_to(want.end());
  }
  return left;
}

std::vector<ByteRange> RangeScheduler::ranges_to_fetch(State& state, const RemoteObject& object,
                                                       const RangeCover& cover,
                                                       const FetchRules& rules) {
  if (object.is_whole_only()) return {{0, object.version().size}};
  const auto& key = object.version().key;
  std::vector<ByteRange> missing;
  missing.reserve(cover.missing.size());
  for (const auto& want : cover.missing) missing.push_back(want.range);
  const auto is_free = [&](ByteRange gap) {
    return !state.parts.overlaps(key, gap) && !state.flights.overlaps(key, gap);
  };
  return plan_fetches(std::move(missing), rules, is_free);
}

auto RangeScheduler::plan(State& state, const RemoteObject& object, RangeCover& cover,
                          Priority priority) const -> std::vector<FlightPtr> {
  if (cover.missing.empty()) return {};
  const auto& key = object.version().key;
  const FetchRules rules{.cheap_gap_bytes = queue_.cheap_gap_bytes(),
                         .connections = queue_.limit()};
  std::vector<FlightPtr> made;
  for (const auto& range : ranges_to_fetch(state, object, cover, rules)) {
    made.push_back(state.flights.add(key, range, priority));
  }
  state.parts.reserve(state.flights.bytes());
  cover.supply_missing(made);
  return made;
}

void RangeScheduler::launch(const Object& object, const std::vector<FlightPtr>& flights) {
  for (const auto& flight : flights) {
    const auto priority = state_.with([&](State&) { return flight->priority; });
    const auto id = queue_.start(object->call_for(flight->range, priority),
                                 [this, object, flight](Result<HttpAnswer> answer) {
                                   land(object, flight, std::move(answer));
                                 });
    const bool was_raised = state_.with([&](State&) {
      flight->id = id;
      return flight->priority != priority;
    });
    if (was_raised) queue_.raise(id);
  }
}

void RangeScheduler::land(const Object& object, const FlightPtr& flight,
                          Result<HttpAnswer> answer) {
  const auto& key = object->version().key;
  Result<Part> part = std::unexpected(answer ? Error{} : answer.error());
  if (answer) part = Part{flight->range.offset, bodies_.share(std::move(answer->body))};
  const auto priority = state_.with([&](State& state) {
    state.flights.remove(key, flight);
    state.parts.reserve(state.flights.bytes());
    if (part) state.parts.insert(key, *part, flight->priority == Priority::prefetch);
    return flight->priority;
  });
  if (part && priority == Priority::prefetch) stats_.add_prefetched(flight->range.size);
  if (part && disk_ != nullptr && object->version().is_strong()) disk_->store(key, *part);
  flight->landed.with_and_wake([&](auto& landed) { landed = std::move(part); });
}

Result<Part> RangeScheduler::wait_for(const FlightPtr& flight) {
  auto landed = flight->landed.wait_unless(
      fs::interrupted, [](const auto& value) { return value.has_value(); },
      [](const auto& value) { return value; });
  if (!landed) return fs::system_error_of(EINTR, "remote read");
  return std::move(*landed);
}

void RangeScheduler::cancel(const FlightTable::Unwanted& requests) {
  for (const auto id : requests) queue_.cancel(id);
}

auto RangeScheduler::begin(const Object& object, std::span<const Want> wants) -> Begun {
  const auto& key = object->version().key;
  Begun begun;
  auto& cover = begun.cover;
  state_.with([&](State& state) {
    cover = cover_of(state, key, wants);
    FlightTable::join(cover.flights);
  });
  for (const auto& [want, part] : cover.ready) want.take(part);
  cover.ready.clear();
  stats_.add_prefetched_read(cover.first_read_bytes);

  bool was_on_disk = false;
  if (!cover.missing.empty()) {
    const auto left = take_from_disk(key, std::exchange(cover.missing, {}));
    was_on_disk = left.empty();
    begun.made = state_.with([&](State& state) {
      const auto joined = cover.flights.size();
      for (const auto& want : left) cover.add(key, want, state.parts, state.flights);
      auto made = plan(state, *object, cover, Priority::demand);
      FlightTable::join(std::span(cover.flights).subspan(joined));
      return made;
    });
    for (const auto& [want, part] : cover.ready) want.take(part);
    launch(object, begun.made);
  }
  if (cover.flights.empty()) {
    was_on_disk ? stats_.add_disk_hit() : stats_.add_memory_hit();
    return begun;
  }
  stats_.add_miss();

  std::vector<RequestQueue::Id> raised;
  state_.with([&](State&) {
    for (const auto& flight : cover.flights) {
      if (flight->priority == Priority::demand) continue;
      flight->priority = Priority::demand;
      if (flight->id) raised.push_back(*flight->id);
    }
  });
  for (const auto id : raised) queue_.raise(id);
  return begun;
}

Status RangeScheduler::finish(const Object& object, const Begun& begun, bool& may_retry) {
  const auto& [cover, made] = begun;
  Status status;
  for (const auto& flight : cover.flights) {
    const auto part = wait_for(flight);
    if (!part) {
      status = std::unexpected(part.error());
      // Another reader may have sent this request long ago, so that its time was nearly over.
      may_retry = std::ranges::find(made, flight) == made.end() && part.error().sys == EIO;
      break;
    }
    for (const auto& want : cover.joined) want.take(*part);
  }
  cancel(state_.with(
      [&](State& state) { return state.flights.leave(object->version().key, cover.flights); }));
  return status;
}

Status RangeScheduler::check_size(const RemoteObject& object) const {
  const auto size = object.version().size;
  // An open fetches all of a small object anyway.
  if (!object.is_whole_only() || size <= std::max(whole_object_bytes_, kHeadBytes)) return {};
  return fs::refusal(EIO,
                     "the server does not support ranges; --whole-objects fetches objects whole");
}

Status RangeScheduler::read(const Object& object, std::span<const Read> reads, FetchAhead ahead) {
  FRAMEFS_CHECK(check_size(*object));
  std::vector<Want> wants;
  std::uint64_t bytes = 0;
  for (const auto& [offset, out] : reads) {
    const auto size = object->version().size;
    if (offset > size || out.size() > size - offset) {
      return codec::fail(Errc::truncated, "remote object", offset);
    }
    if (!out.empty()) wants.push_back({{offset, out.size()}, out.data()});
    bytes += out.size();
  }
  // The requests of the read are sent first; otherwise they would wait behind those for the ranges
  // ahead.  The requests for the ranges ahead are sent before the wait, which takes a round trip.
  bool may_retry = false;
  const auto begun = begin(object, wants);
  if (ahead == FetchAhead::in_stored_order) fetch_ahead(object, wants);
  auto status = finish(object, begun, may_retry);
  if (!status && may_retry) status = finish(object, begin(object, wants), may_retry);
  if (!status) return status;
  stats_.add_served(bytes);
  return {};
}

void RangeScheduler::expect(const Object& object, std::span<const ByteRange> now,
                            std::span<const ByteRange> next) {
  if (!check_size(*object)) return;
  const auto& key = object->version().key;
  const auto wants = wants_of(*object, now);
  launch(object, state_.with([&](State& state) {
    auto cover = cover_of(state, key, wants);
    // The caller is about to read these ranges.
    return plan(state, *object, cover, Priority::demand);
  }));
  fetch_next(object, next);
}

// The ranges that the disk cache lacks.
auto RangeScheduler::wants_of(const RemoteObject& object, std::span<const ByteRange> ranges) const
    -> std::vector<Want> {
  const auto size = object.version().size;
  std::vector<Want> wants;
  for (auto range : ranges) {
    range.offset = std::min(range.offset, size);
    range.size = std::min(range.size, size - range.offset);
    if (disk_ != nullptr && disk_->holds(object.version().key, range)) continue;
    wants.push_back({range});
  }
  return wants;
}

bool RangeScheduler::holds(const ObjectVersion& version, ByteRange range) {
  const bool is_in_memory = state_.with([&](State& state) {
    const auto cover = cover_of(state, version.key, std::array{Want{range}});
    return cover.flights.empty() && cover.missing.empty();
  });
  return is_in_memory || (disk_ != nullptr && disk_->holds(version.key, range));
}

void RangeScheduler::keep(const RemoteObject& object, Part part) {
  const auto& version = object.version();
  // A later answer with the whole object would overlap it.
  if (object.is_whole_only() && part.bytes->size() < version.size) return;
  if (disk_ != nullptr && version.is_strong()) disk_->store(version.key, part);
  state_.with([&](State& state) { state.parts.insert(version.key, std::move(part)); });
}

void RangeScheduler::attach(const Object& object) {
  state_.with([&](State& state) { ++state.files[object->version().key]; });
}

void RangeScheduler::release(const Object& object) {
  const auto& key = object->version().key;
  const auto course =
      object->streams().with([](const SequentialStreams& streams) { return streams.course(); });
  cancel(state_.with([&](State& state) -> FlightTable::Unwanted {
    state.ahead.note_course(course);
    const auto files = state.files.find(key);
    if (files != state.files.end() && --files->second > 0) return {};
    if (files != state.files.end()) state.files.erase(files);
    state.ahead.forget(key);
    return state.flights.abandon(key);
  }));
}

SequentialStreams::Limits RangeScheduler::limits_ahead(const ContentKey& key) {
  const auto now = Clock::now();
  const AheadBudget::Network network{.pipe_bytes = queue_.pipe_bytes(),
                                     .first_pipe_bytes = queue_.first_pipe_bytes()};
  return state_.with(
      [&](State& state) { return state.ahead.limits(key, network, state.flights.bytes(), now); });
}

void RangeScheduler::fetch_ahead(const Object& object, std::span<const Want> wants) {
  if (wants.empty()) return;
  const auto& version = object->version();
  auto limits = limits_ahead(version.key);
  bool is_sequential = false;
  std::optional<ByteRange> ahead;
  object->streams().with([&](SequentialStreams& streams) {
    streams.begin_read();
    for (const auto& want : wants) {
      const auto found = streams.note(want.range, version.size, limits);
      is_sequential = is_sequential || found.is_sequential;
      if (!found.ahead) continue;
      limits.fetch_bytes -= found.ahead->size;
      // The ranges follow each other, unless one call reads for two readers.
      if (ahead && ahead->offset + ahead->size == found.ahead->offset) {
        ahead->size += found.ahead->size;
      } else {
        ahead = found.ahead;
      }
    }
  });
  if (!is_sequential) return;
  const auto now = Clock::now();
  const auto made = state_.with([&](State& state) -> std::vector<FlightPtr> {
    state.ahead.note_reader(version.key, now);
    if (!ahead) return {};
    if (disk_ != nullptr && disk_->holds(version.key, *ahead)) return {};
    auto cover = cover_of(state, version.key, std::array{Want{*ahead}});
    return plan(state, *object, cover, Priority::prefetch);
  });
  launch(object, made);
}

// Fetches what a reader expects next.  The caller repeats a range until it has read it, so that a
// range for which there is no room now is fetched later.
void RangeScheduler::fetch_next(const Object& object, std::span<const ByteRange> next) {
  if (next.empty()) return;
  const auto& key = object->version().key;
  const auto limits = limits_ahead(key);
  auto wants = wants_of(*object, next);
  std::uint64_t bytes = 0;
  const auto is_too_far = [&](const Want& want) {
    return (bytes += want.range.size) > limits.window_bytes;
  };
  wants.erase(std::ranges::find_if(wants, is_too_far), wants.end());
  const auto now = Clock::now();
  launch(object, state_.with([&](State& state) {
    state.ahead.note_reader(key, now);
    auto cover = cover_of(state, key, wants);
    std::uint64_t missing = 0;
    const auto has_no_room = [&](const Want& want) {
      return (missing += want.range.size) > limits.fetch_bytes;
    };
    cover.missing.erase(std::ranges::find_if(cover.missing, has_no_room), cover.missing.end());
    return plan(state, *object, cover, Priority::prefetch);
  }));
}

}  // namespace framefs::net
