#include "fs/net/store/object_open.h"

#include <atomic>
#include <cerrno>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "codec/core/parse_number.h"
#include "fs/core/files/file.h"
#include "fs/net/http/answer_check.h"
#include "fs/net/http/timestamp.h"

namespace framefs::net {
namespace {

std::int64_t mtime_ns_of(const HttpHeaders& headers) {
  return parse_http_date(headers.find("last-modified").value_or("")).value_or(0) * kNsPerSecond;
}

// The size of the object.  Nothing if the answer has no consistent size.
std::optional<std::uint64_t> total_of(const HttpAnswer& answer, std::uint64_t head_bytes) {
  if (answer.status == 200) {
    if (!answer.body_too_long) return answer.body.size();
    return codec::parse_number<std::uint64_t>(answer.headers.find("content-length").value_or(""));
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

void ask_for_part(HttpRequest& request, const OpenRequest& open) {
  // The probe has asked for the beginning.  This is an open, and reads follow.
  request.is_first_of_many = open.version.has_value();
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
  // As in check_range_answer().
  const bool is_stored = answer.status == 206 && !strong_etag(answer.headers).empty();
  if (is_encoded(answer) && !is_stored) return doubtful("answer with a Content-Encoding");
  if (answer.status == 200 && answer.body_too_long) {
    // A server that usually has ranges will have them again.  Another one has said the size, and
    // the beginning of the object is here.
    auto verdict = check_has_ranges(answer);
    const bool is_known = total_of(answer, open.range.size).has_value();
    return verdict.kind == Verdict::Kind::failed && is_known ? Verdict{} : verdict;
  }
  if (!total_of(answer, open.range.size)) return doubtful("answer is another range");
  return {};
}

// A number that tells opens apart.
std::uint64_t next_open_number() {
  static std::atomic<std::uint64_t> opens{0};  // relaxed: only a number
  return opens.fetch_add(1, std::memory_order_relaxed);
}

// Opens the object by an answer that passed the check.
RemoteOpened opened_by(HttpAnswer answer, const OpenRequest& open, const std::string& store,
                       const std::string& path, MakeGet get) {
  const auto size =
      open.version ? open.version->size : total_of(answer, open.range.size).value_or(0);
  const auto version = std::make_shared<const ObjectVersion>(
      make_version(store, path, size, answer.headers, next_open_number()));
  auto range_call = [get = std::move(get), version](ByteRange range) {
    return get([version, range](HttpRequest& request) { pin(request, *version, range); },
               [version, range](const HttpAnswer& got) {
                 return check_range_answer(got, *version, range);
               });
  };
  // The body of a 416 explains the error.
  if (size == 0) answer.body.clear();
  if (answer.body_too_long) answer.body.resize(std::min(answer.body.size(), open.range.size));
  const bool is_whole_only = answer.status == 200 && size > 0;
  auto bytes = std::make_shared<const std::vector<std::byte>>(std::move(answer.body));
  return {std::make_shared<const RemoteObject>(*version, std::move(range_call), is_whole_only),
          mtime_ns_of(answer.headers), Part{open.range.offset, std::move(bytes)}};
}

}  // namespace

void start_open(RequestQueue& queue, MakeGet get, std::string store, std::string path,
                const OpenRequest& open, ObjectStore::OpenDone done) {
  auto call = get([open](HttpRequest& request) { ask_for_part(request, open); },
                  [open](const HttpAnswer& answer) { return check_open_answer(answer, open); });
  queue.start(std::move(call),
              [get = std::move(get), store = std::move(store), path = std::move(path), open,
               done = std::move(done)](Result<HttpAnswer> answer) {
                if (!answer) return done(std::unexpected(answer.error()));
                done(opened_by(std::move(*answer), open, store, path, get));
              });
}

RemoteEntry entry_of_head_answer(const HttpAnswer& answer) {
  RemoteEntry entry;
  const auto length = answer.headers.find("content-length").value_or("");
  const auto size = codec::parse_number<std::uint64_t>(length);
  entry.size = size.value_or(0);
  entry.is_exact = size.has_value();
  entry.mtime_ns = mtime_ns_of(answer.headers);
  entry.etag = strong_etag(answer.headers);
  return entry;
}

}  // namespace framefs::net
