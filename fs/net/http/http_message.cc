#include "fs/net/http/http_message.h"

#include <algorithm>
#include <ranges>

#include "fs/net/http/lower_case.h"

namespace framefs::net {

void HttpHeaders::add(std::string_view name, std::string_view value) {
  const auto is_control = [](char c) {
    return (static_cast<unsigned char>(c) < ' ' && c != '\t') || c == '\x7f';
  };
  if (std::ranges::any_of(name, is_control) || std::ranges::any_of(value, is_control)) return;
  fields_.emplace_back(lower_case(name), std::string(value));
}

void HttpHeaders::set(std::string_view name, std::string_view value) {
  remove(name);
  add(name, value);
}

void HttpHeaders::remove(std::string_view name) {
  const auto lower = lower_case(name);
  std::erase_if(fields_, [&](const Field& field) { return field.first == lower; });
}

std::optional<std::string_view> HttpHeaders::find(std::string_view name) const {
  for (const auto& field : std::views::reverse(fields_)) {
    if (field.first == name) return field.second;
  }
  return std::nullopt;
}

std::string_view HttpAnswer::text() const {
  // The same bytes, read as text.
  return {reinterpret_cast<const char*>(body.data()), body.size()};
}

}  // namespace framefs::net
