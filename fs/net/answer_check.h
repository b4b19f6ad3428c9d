#pragma once

#include <cstdint>
#include <optional>

#include "codec/core/units.h"
#include "fs/net/object_version.h"
#include "fs/net/request_queue.h"

namespace framefs::net {

using codec::ByteRange;

// What Content-Range says.
struct ContentRange {
  std::optional<ByteRange> range;  // nothing in "bytes */123"
  std::optional<std::uint64_t> total;
};
std::optional<ContentRange> parse_content_range(std::string_view text);

// "bytes=0-9" for the first ten bytes.
std::string range_header(ByteRange range);

// Makes a GET of `range` one that only this version answers.
void pin(HttpRequest& request, const ObjectVersion& version, ByteRange range);

// What an answer without a body that is of use means, by its status alone.
Verdict verdict_of_status(int status);

// Whether `answer` holds exactly the bytes `range` of `version`.  A server may ignore every header
// of a request, so everything is checked.
// Errors, of the verdict: system, ESTALE where the object is another one now; EIO.
Verdict check_range_answer(const HttpAnswer& answer, const ObjectVersion& version, ByteRange range);

}  // namespace framefs::net
