#include "fs/net/open_answer.h"

#include <cerrno>
#include <charconv>
#include <utility>

#include "fs/core/file.h"
#include "fs/net/answer_check.h"
#include "fs/net/timestamp.h"

namespace framefs::net {
namespace {

std::int64_t mtime_ns_of(const HttpHeaders& headers) {
  return parse_http_date(headers.find("last-modified").value_or("")).value_or(0) * kNsPerSecond;
}

// The size of the object.  Nothing if the answer has no consistent size.
std::optional<std::uint64_t> total_of(const HttpAnswer& answer, std::uint64_t head_bytes) {
  if (answer.status == 200) {
    if (answer.body_too_long) return std::nullopt;
    return answer.body.size();
  }
  const auto place = answer.headers.find("content-range");
  // No range that begins at byte 0 lies behind the end, except in an empty object. S3 servers send
  // no Content-Range with this answer.
  if (answer.status == 416 && !place) return 0;
  const auto sent = parse_content_range(place.value_or(""));
  if (!sent || !sent->total) return std::nullopt;
  if (answer.status == 416) return *sent->total == 0 ? sent->total : std::nullopt;
  const auto expected = std::min(*sent->total, head_bytes);
  const bool fits = sent->range == ByteRange{0, expected} && answer.body.size() == expected;
  return fits ? sent->total : std::nullopt;
}

}  // namespace

void ask_for_part(HttpRequest& request, const OpenRequest& open) {
  if (open.version) return pin(request, *open.version, open.range);
  request.headers.set("range", range_header(open.range));
  request.max_body_bytes = open.range.size;
}

Verdict check_open_answer(const HttpAnswer& answer, const OpenRequest& open) {
  if (open.version) return check_range_answer(answer, *open.version, open.range);
  const auto doubtful = [](const char* what) {
    return Verdict{Verdict::Kind::doubtful, fs::refusal(EIO, what).error()};
  };
  const bool is_content = answer.status == 200 || answer.status == 206 || answer.status == 416;
  if (!is_content) return verdict_of_status(answer.status);
  if (answer.headers.find("content-encoding").value_or("identity") != "identity") {
    return doubtful("answer with a Content-Encoding");
  }
  if (answer.status == 200 && answer.body_too_long) {
    return doubtful("the server answers no ranges");
  }
  if (!total_of(answer, open.range.size)) return doubtful("answer is another range");
  return {};
}

OpenFacts facts_of_open_answer(std::string_view store, const std::string& path, HttpAnswer answer,
                               const OpenRequest& open, std::uint64_t open_number) {
  OpenFacts facts;
  const auto size =
      open.version ? open.version->size : total_of(answer, open.range.size).value_or(0);
  facts.version = make_version(store, path, size, answer.headers, open_number);
  facts.mtime_ns = mtime_ns_of(answer.headers);
  // The body of a 416 explains the error.
  if (size == 0) answer.body.clear();
  facts.part = {open.range.offset,
                std::make_shared<const std::vector<std::byte>>(std::move(answer.body))};
  return facts;
}

RemoteEntry entry_of_head_answer(const HttpAnswer& answer) {
  RemoteEntry entry;
  const auto length = answer.headers.find("content-length").value_or("");
  const auto* const end = length.data() + length.size();
  const auto [stop, error] = std::from_chars(length.data(), end, entry.size);
  entry.is_exact = error == std::errc{} && stop == end;
  entry.mtime_ns = mtime_ns_of(answer.headers);
  entry.etag = strong_etag(answer.headers);
  return entry;
}

}  // namespace framefs::net
