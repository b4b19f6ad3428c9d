#include "tests/support/http_exchange.h"

#include <algorithm>
#include <cctype>
#include <charconv>

#include <fmt/core.h>

namespace framefs::test {
namespace {

constexpr std::string_view kHeaderEnd = "\r\n\r\n";
constexpr std::string_view kLastChunk = "0\r\n\r\n";

bool equal_names(std::string_view a, std::string_view b) {
  return std::ranges::equal(
      a, b, [](unsigned char x, unsigned char y) { return std::tolower(x) == std::tolower(y); });
}

std::uint64_t number(std::string_view text) {
  std::uint64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

std::string json_text(std::string_view text) {
  std::string json = "\"";
  for (const char c : text) {
    if (static_cast<unsigned char>(c) < 0x20) {
      json += fmt::format("\\u{:04x}", static_cast<unsigned char>(c));
      continue;
    }
    if (c == '"' || c == '\\') json += '\\';
    json += c;
  }
  return json + "\"";
}

}  // namespace

std::optional<std::size_t> ExchangeParser::Header::add(std::string_view bytes) {
  const auto before = text.size();
  text += bytes;
  const auto from = before - std::min(before, kHeaderEnd.size() - 1);
  const auto end = text.find(kHeaderEnd, from);
  if (end == text.npos) return std::nullopt;
  text.resize(end + kHeaderEnd.size());
  return text.size() - before;
}

std::string_view ExchangeParser::Header::field(std::string_view name) const {
  const std::string_view all(text);
  for (auto at = all.find("\r\n") + 2; at < all.size();) {
    const auto end = all.find("\r\n", at);
    const auto line = all.substr(at, end - at);
    const auto colon = line.find(':');
    if (colon != line.npos && equal_names(line.substr(0, colon), name)) {
      auto value = line.substr(colon + 1);
      value.remove_prefix(std::min(value.find_first_not_of(' '), value.size()));
      return value;
    }
    at = end + 2;
  }
  return {};
}

auto ExchangeParser::take_request(std::string_view bytes, Exchange::Time now) -> ExchangePtr {
  if (request_body_left_ > 0) {
    request_body_left_ -= std::min<std::uint64_t>(request_body_left_, bytes.size());
    return nullptr;
  }
  const auto header_bytes = request_.add(bytes);
  if (!header_bytes) return nullptr;
  auto exchange = std::make_shared<Exchange>();
  const auto first = request_.text.find(' ');
  const auto second = request_.text.find(' ', first + 1);
  exchange->method = request_.text.substr(0, first);
  exchange->target = request_.text.substr(first + 1, second - first - 1);
  exchange->range = request_.field("range");
  exchange->begin = now;
  const auto length = number(request_.field("content-length"));
  request_body_left_ = length - std::min<std::uint64_t>(length, bytes.size() - *header_bytes);
  request_.text.clear();
  waiting_.push_back(exchange);
  return exchange;
}

void ExchangeParser::begin_body() {
  auto& exchange = *waiting_.front();
  exchange.status = static_cast<int>(number(answer_.text.substr(answer_.text.find(' ') + 1, 3)));
  const bool has_none =
      exchange.method == "HEAD" || exchange.status == 204 || exchange.status == 304;
  const auto length = answer_.field("content-length");
  body_left_ = number(length);
  body_tail_.clear();
  is_in_body_ = true;
  if (has_none) {
    body_ = Body::none;
  } else if (equal_names(answer_.field("transfer-encoding"), "chunked")) {
    body_ = Body::chunked;
  } else {
    body_ = length.empty() ? Body::until_close : Body::counted;
  }
}

// Returns whether the body has ended.
bool ExchangeParser::take_body(std::string_view bytes) {
  if (body_ == Body::none) return true;
  if (body_ == Body::counted) {
    body_left_ -= std::min<std::uint64_t>(body_left_, bytes.size());
    return body_left_ == 0;
  }
  if (body_ == Body::until_close) return false;
  body_tail_ += bytes.substr(bytes.size() - std::min(bytes.size(), kLastChunk.size()));
  body_tail_.erase(0, body_tail_.size() - std::min(body_tail_.size(), kLastChunk.size()));
  return body_tail_ == kLastChunk;
}

auto ExchangeParser::take_answer(std::string_view bytes) -> Passed {
  if (waiting_.empty()) return {};
  Passed passed{.exchange = waiting_.front()};
  while (!is_in_body_) {
    const auto header_bytes = answer_.add(bytes);
    if (!header_bytes) return passed;
    bytes.remove_prefix(*header_bytes);
    // "100 Continue" precedes the answer.
    const bool is_answer = !answer_.text.starts_with("HTTP/1.1 1");
    if (is_answer) begin_body();
    passed.is_begin = is_answer;
    answer_.text.clear();
  }
  passed.body_bytes = body_ == Body::none ? 0 : bytes.size();
  passed.is_end = take_body(bytes);
  if (passed.is_end) {
    is_in_body_ = false;
    waiting_.pop_front();
  }
  return passed;
}

auto ExchangeParser::take_unanswered() -> ExchangePtr {
  if (waiting_.empty()) return nullptr;
  auto exchange = waiting_.front();
  waiting_.pop_front();
  return exchange;
}

std::string to_json(const Exchange& exchange, Exchange::Time origin) {
  const auto seconds = [&](Exchange::Time time) {
    if (time == Exchange::Time{}) return std::string("null");
    return fmt::format("{:.6f}", std::chrono::duration<double>(time - origin).count());
  };
  return fmt::format(R"({{"method": {}, "target": {}, "range": {}, "status": {}, "bytes": {}, )"
                     R"("begin": {}, "first": {}, "end": {}}})",
                     json_text(exchange.method), json_text(exchange.target),
                     json_text(exchange.range), exchange.status, exchange.bytes,
                     seconds(exchange.begin), seconds(exchange.first), seconds(exchange.end));
}

}  // namespace framefs::test
