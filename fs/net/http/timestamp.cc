#include "fs/net/http/timestamp.h"

#include <array>
#include <ctime>

#include <fmt/core.h>

#include "codec/core/parse_number.h"

namespace framefs::net {
namespace {

// Takes the first `digits` characters off `text` and returns their number.  Nothing if they are not
// all digits.
std::optional<int> take_number(std::string_view& text, std::size_t digits) {
  if (text.size() < digits) return std::nullopt;
  const auto number = codec::parse_number<int>(text.substr(0, digits));
  if (!number || *number < 0) return std::nullopt;
  text.remove_prefix(digits);
  return number;
}

bool take(std::string_view& text, char c) {
  if (!text.starts_with(c)) return false;
  text.remove_prefix(1);
  return true;
}

std::optional<UnixSeconds> seconds_of(int year, int month, int day, int hour, int minute,
                                      int second) {
  // Nanoseconds of later times do not fit 64 bits.
  constexpr int kMaxYear = 2261;
  constexpr UnixSeconds kMaxSeconds = 9214646399;  // the end of that year
  if (year < 1970 || month < 1 || month > 12 || day < 1 || day > 31) return std::nullopt;
  if (hour > 23 || minute > 59 || second > 60) return std::nullopt;
  if (year > kMaxYear) return kMaxSeconds;
  std::tm parts{};
  parts.tm_year = year - 1900;
  parts.tm_mon = month - 1;
  parts.tm_mday = day;
  parts.tm_hour = hour;
  parts.tm_min = minute;
  parts.tm_sec = second;
  return ::timegm(&parts);
}

std::optional<int> take_month(std::string_view& text) {
  constexpr std::array<std::string_view, 12> kMonths{"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                     "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  for (std::size_t i = 0; i < kMonths.size(); ++i) {
    if (!text.starts_with(kMonths[i])) continue;
    text.remove_prefix(kMonths[i].size());
    return static_cast<int>(i + 1);
  }
  return std::nullopt;
}

std::tm parts_of(UnixSeconds time) {
  const std::time_t since_epoch = time;
  std::tm parts{};
  static_cast<void>(::gmtime_r(&since_epoch, &parts));  // fails in years that no int can hold
  return parts;
}

struct ClockTime {
  int hour;
  int minute;
  int second;
};

std::optional<ClockTime> take_clock(std::string_view& text) {
  const auto hour = take_number(text, 2);
  if (!hour || !take(text, ':')) return std::nullopt;
  const auto minute = take_number(text, 2);
  if (!minute || !take(text, ':')) return std::nullopt;
  const auto second = take_number(text, 2);
  if (!second) return std::nullopt;
  return ClockTime{*hour, *minute, *second};
}

// Takes a fraction such as ".123" off `text` and returns its nanoseconds.  0 if there is no
// fraction.
std::int64_t take_fraction_ns(std::string_view& text) {
  if (!take(text, '.')) return 0;
  std::int64_t ns = 0;
  std::int64_t unit = kNsPerSecond;
  for (; !text.empty() && text[0] >= '0' && text[0] <= '9'; text.remove_prefix(1)) {
    unit /= 10;
    ns += unit * (text[0] - '0');
  }
  return ns;
}

// The seconds of an offset: "Z", "+01:00" or an empty text.
std::optional<std::int64_t> offset_seconds(std::string_view text) {
  if (text.empty() || text == "Z") return 0;
  const int sign = text[0] == '-' ? -1 : 1;
  if (text[0] != '+' && text[0] != '-') return std::nullopt;
  text.remove_prefix(1);
  const auto hours = take_number(text, 2);
  take(text, ':');
  const auto minutes = take_number(text, 2);
  if (!hours || !minutes || !text.empty()) return std::nullopt;
  return std::int64_t{sign} * (*hours * 3600 + *minutes * 60);
}

}  // namespace

std::optional<UnixSeconds> parse_http_date(std::string_view text) {
  const auto comma = text.find(", ");
  if (comma == text.npos) return std::nullopt;
  text.remove_prefix(comma + 2);
  const auto day = take_number(text, 2);
  if (!day || !(take(text, ' ') || take(text, '-'))) return std::nullopt;
  const auto month = take_month(text);
  if (!month || !(take(text, ' ') || take(text, '-'))) return std::nullopt;
  const auto year = take_number(text, 4);
  if (!year || !take(text, ' ')) return std::nullopt;
  const auto clock = take_clock(text);
  if (!clock || (text != " GMT" && text != " UTC")) return std::nullopt;
  return seconds_of(*year, *month, *day, clock->hour, clock->minute, clock->second);
}

std::optional<std::int64_t> parse_iso_time_ns(std::string_view text) {
  const auto year = take_number(text, 4);
  if (!year || !take(text, '-')) return std::nullopt;
  const auto month = take_number(text, 2);
  if (!month || !take(text, '-')) return std::nullopt;
  const auto day = take_number(text, 2);
  if (!day || !(take(text, 'T') || take(text, ' '))) return std::nullopt;
  const auto clock = take_clock(text);
  if (!clock) return std::nullopt;
  const auto fraction_ns = take_fraction_ns(text);
  const auto offset = offset_seconds(text);
  const auto seconds = seconds_of(*year, *month, *day, clock->hour, clock->minute, clock->second);
  if (!offset || !seconds) return std::nullopt;
  return (*seconds - *offset) * kNsPerSecond + fraction_ns;
}

std::optional<UnixSeconds> parse_iso_time(std::string_view text) {
  const auto ns = parse_iso_time_ns(text);
  if (!ns) return std::nullopt;
  return *ns / kNsPerSecond;
}

std::int64_t time_of(std::string_view text) {
  if (const auto ns = parse_iso_time_ns(text)) return *ns;
  return parse_http_date(text).value_or(0) * kNsPerSecond;
}

std::string iso_time_ns(std::int64_t ns) {
  auto seconds = ns / kNsPerSecond;
  auto fraction_ns = ns % kNsPerSecond;
  if (fraction_ns < 0) {
    --seconds;
    fraction_ns += kNsPerSecond;
  }
  const auto parts = parts_of(seconds);
  auto text =
      fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}", parts.tm_year + 1900, parts.tm_mon + 1,
                  parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec);
  if (fraction_ns != 0) text += fmt::format(".{:09}", fraction_ns);
  return text + "Z";
}

std::string amz_time(UnixSeconds time) {
  const auto parts = parts_of(time);
  return fmt::format("{:04}{:02}{:02}T{:02}{:02}{:02}Z", parts.tm_year + 1900, parts.tm_mon + 1,
                     parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec);
}

}  // namespace framefs::net
