#include "fs/net/http/retry_rules.h"

#include <algorithm>
#include <cerrno>
#include <random>

#include "codec/core/parse_number.h"
#include "fs/net/http/timestamp.h"

namespace framefs::net {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr milliseconds kFirstRetryPause{50};
constexpr milliseconds kLongestRetryPause{5'000};
// A longer wish ends the call in any case.
constexpr seconds kLongestWish{86'400};

}  // namespace

milliseconds pause_after(std::uint64_t failures) {
  thread_local std::minstd_rand random{std::random_device{}()};
  const auto doublings = std::min<std::uint64_t>(failures - 1, 10);
  const auto whole = std::min(kLongestRetryPause, kFirstRetryPause * (1 << doublings));
  std::uniform_int_distribution<milliseconds::rep> half(whole.count() / 2, whole.count());
  return milliseconds(half(random));
}

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

Error too_late(Error last) {
  if (last.kind == Errc::system) last.sys = EIO;
  return last;
}

}  // namespace framefs::net
