#pragma once

#include <cstdint>
#include <optional>

#include "codec/core/units.h"
#include "fs/net/http/request_queue.h"
#include "fs/net/store/object_version.h"

namespace framefs::net {

using codec::ByteRange;

// The fields of a Content-Range header.
struct ContentRange {
  std::optional<ByteRange> range;  // nothing in "bytes */123"
  std::optional<std::uint64_t> total;
};
std::optional<ContentRange> parse_content_range(std::string_view text);

// "bytes=0-9" for the first ten bytes.
std::string range_header(ByteRange range);

// Adds conditions to a GET of `range`, so that the server answers only for this version.
void pin(HttpRequest& request, const ObjectVersion& version, ByteRange range);

// The verdict of a call that cannot succeed: the error `error` of errno, and the text `what`.
Verdict failed_with(int error, const char* what);

// Whether the body of an answer is a coding of the object's bytes, such as gzip.
bool is_encoded(const HttpAnswer& answer);

// The verdict of an answer that holds the whole object instead of a range.
Verdict check_has_ranges(const HttpAnswer& answer);

// Judges an answer by its status alone, without its body.
Verdict verdict_of_status(int status);

// Checks that `answer` holds exactly the bytes `range` of `version`.  A server may ignore every
// header of a request, so this function checks everything.
// Errors, in the verdict: system, with ESTALE if the server now has another version, or with EIO.
Verdict check_range_answer(const HttpAnswer& answer, const ObjectVersion& version, ByteRange range);

}  // namespace framefs::net
