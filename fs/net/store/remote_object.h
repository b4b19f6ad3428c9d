#pragma once

#include <functional>
#include <utility>

#include "fs/core/threads/guarded.h"
#include "fs/net/cache/sequential_streams.h"
#include "fs/net/http/call.h"
#include "fs/net/store/object_version.h"

namespace framefs::net {

// An object at one version, for reading.
// Threads: any number.
class RemoteObject {
 public:
  // Makes the call that fetches `range` and checks the answer against the version.
  using RangeCall = std::function<Call(ByteRange range)>;

  // `is_whole_only`: the server sends the whole object, whatever range a call asks for.
  RemoteObject(ObjectVersion version, RangeCall range_call, bool is_whole_only = false)
      : version_(std::move(version)),
        range_call_(std::move(range_call)),
        is_whole_only_(is_whole_only) {}

  [[nodiscard]] const ObjectVersion& version() const { return version_; }
  [[nodiscard]] bool is_whole_only() const { return is_whole_only_; }
  [[nodiscard]] Call call_for(ByteRange range, Priority priority) const {
    auto call = range_call_(range);
    call.priority = priority;
    call.expected_bytes = range.size;
    return call;
  }
  // The sequential readers of the object, through any handle.
  fs::Guarded<SequentialStreams>& streams() const { return streams_; }

 private:
  const ObjectVersion version_;
  const RangeCall range_call_;
  const bool is_whole_only_;
  mutable fs::Guarded<SequentialStreams> streams_;
};

}  // namespace framefs::net
