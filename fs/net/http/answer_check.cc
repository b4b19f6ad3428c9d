#include "fs/net/http/answer_check.h"

#include <cerrno>
#include <charconv>

#include "fs/core/files/file.h"

namespace framefs::net {
namespace {

Verdict verdict(Verdict::Kind kind, int error, const char* what) {
  return {kind, fs::refusal(error, what).error()};
}

Verdict stale(const char* what) { return failed_with(ESTALE, what); }
Verdict doubtful(const char* what) { return verdict(Verdict::Kind::doubtful, EIO, what); }

std::optional<std::uint64_t> take_number(std::string_view& text) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{}) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return number;
}

bool take(std::string_view& text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return false;
  text.remove_prefix(prefix.size());
  return true;
}

// Checks that the answer is about this version.
std::optional<Verdict> check_version(const HttpAnswer& answer, const ObjectVersion& version) {
  if (version.is_strong()) {
    const auto etag = answer.headers.find("etag");
    if (!etag) return doubtful("answer without ETag");
    if (*etag != version.etag) return stale("ETag changed");
    return std::nullopt;
  }
  if (!etags_agree(etag_of(answer.headers), version.etag)) return stale("ETag changed");
  if (answer.headers.find("last-modified").value_or("") != version.last_modified) {
    return stale("Last-Modified changed");
  }
  return std::nullopt;
}

}  // namespace

Verdict failed_with(int error, const char* what) {
  return verdict(Verdict::Kind::failed, error, what);
}

std::optional<ContentRange> parse_content_range(std::string_view text) {
  if (!take(text, "bytes ")) return std::nullopt;
  ContentRange parsed;
  if (!take(text, "*")) {
    const auto first = take_number(text);
    if (!first || !take(text, "-")) return std::nullopt;
    const auto last = take_number(text);
    if (!last || *last < *first) return std::nullopt;
    parsed.range = ByteRange{*first, *last - *first + 1};
  }
  if (!take(text, "/")) return std::nullopt;
  if (!take(text, "*")) {
    parsed.total = take_number(text);
    if (!parsed.total) return std::nullopt;
  }
  if (!text.empty()) return std::nullopt;
  return parsed;
}

bool is_encoded(const HttpAnswer& answer) {
  return answer.headers.find("content-encoding").value_or("identity") != "identity";
}

Verdict check_has_ranges(const HttpAnswer& answer) {
  constexpr const char* kText = "the server does not support ranges";
  // A proxy may have caused the answer.
  const bool has_ranges = answer.headers.find("accept-ranges").value_or("none") != "none";
  return has_ranges ? doubtful(kText) : failed_with(EIO, kText);
}

std::string range_header(ByteRange range) {
  return "bytes=" + std::to_string(range.offset) + "-" +
         std::to_string(range.offset + range.size - 1);
}

void pin(HttpRequest& request, const ObjectVersion& version, ByteRange range) {
  request.headers.set("range", range_header(range));
  if (version.is_strong()) {
    request.headers.set("if-match", version.etag);
  } else if (!version.last_modified.empty()) {
    request.headers.set("if-unmodified-since", version.last_modified);
  }
  request.max_body_bytes = range.size;
}

Verdict verdict_of_status(int status) {
  using Kind = Verdict::Kind;
  switch (status) {
    case 401:
    case 403:
      return verdict(Kind::failed, EACCES, "the server denies access");
    case 405:
      return verdict(Kind::failed, EOPNOTSUPP, "the server does not support such requests");
    case 404:
    case 410:
      return verdict(Kind::failed, ENOENT, "the server has no such object");
    case 408:
    case 500:
    case 502:
    case 504:
      return verdict(Kind::retry, EIO, "the server has failed");
    case 429:
    case 503:
      return verdict(Kind::slow_down, EIO, "the server is too busy");
    default:
      return verdict(Kind::failed, EIO, "the server answers with an unexpected status");
  }
}

Verdict check_range_answer(const HttpAnswer& answer, const ObjectVersion& version,
                           ByteRange range) {
  // 416: the range was inside the version.
  if (answer.status == 412 || answer.status == 416) return stale("remote object changed");
  if (answer.status == 404 || answer.status == 410) return stale("remote object removed");
  const bool is_whole = answer.status == 200 && range.offset == 0 && range.size == version.size;
  if (answer.status != 206 && !is_whole) {
    if (answer.status == 200) return check_has_ranges(answer);
    return answer.status / 100 == 2 ? doubtful("answer is not the range asked for")
                                    : verdict_of_status(answer.status);
  }
  if (auto changed = check_version(answer, version)) return *changed;
  // A range of a pinned version has its stored bytes, whatever the object is a coding of.
  const bool is_stored = answer.status == 206 && version.is_strong();
  if (is_encoded(answer) && !is_stored) return doubtful("answer with a Content-Encoding");
  if (answer.status == 206) {
    const auto sent = parse_content_range(answer.headers.find("content-range").value_or(""));
    if (sent && sent->total && *sent->total != version.size) {
      return stale("remote object's size changed");
    }
    if (!sent || sent->range != range) return doubtful("answer is another range");
  }
  if (answer.body_too_long || answer.body.size() != range.size) {
    return doubtful("answer of another length");
  }
  return {};
}

}  // namespace framefs::net
