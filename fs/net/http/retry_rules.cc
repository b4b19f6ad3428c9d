#include "fs/net/http/retry_rules.h"

#include <algorithm>
#include <cerrno>
#include <cstdint>

#include "codec/core/parse_number.h"
#include "fs/net/http/timestamp.h"

namespace framefs::net {
namespace {

using std::chrono::seconds;

// A longer wish ends the call in any case.
constexpr seconds kLongestWish{86'400};

}  // namespace

std::optional<seconds> retry_after(const HttpAnswer& answer) {
  const auto text = answer.headers.find("retry-after").value_or("");
  if (const auto number = codec::parse_number<std::uint32_t>(text)) {
    return std::min(seconds(*number), kLongestWish);
  }
  // The clock of this machine may be wrong, so the date counts from the server's own.
  const auto until = parse_http_date(text);
  const auto date = parse_http_date(answer.headers.find("date").value_or(""));
  if (!until || !date) return std::nullopt;
  return std::clamp(seconds(*until - *date), seconds(0), kLongestWish);
}

Verdict verdict_of(const Error& error) {
  const bool is_final = error.kind != Errc::system || error.sys == EPROTO || error.sys == ENOMEM;
  return {is_final ? Verdict::Kind::failed : Verdict::Kind::retry, error};
}

bool is_unreachable(const Error& error) {
  if (error.kind != Errc::system) return false;
  return error.sys == ECONNREFUSED || error.sys == EHOSTUNREACH || error.sys == ENETUNREACH ||
         error.sys == ETIMEDOUT;
}

}  // namespace framefs::net
